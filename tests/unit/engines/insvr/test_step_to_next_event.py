"""Lines of INSVR: rates, where they end, and ties."""

from __future__ import annotations

import numpy as np

from conftest import TOL
from support.extended_sets import extended_set
from widestreet._src.engines.insvr.step_to_next_event import Line


def test_a_line_changes_what_it_says(rng):
    subject = extended_set(rng.normal(size=5), rng.uniform(0.2, 0.8, size=10))
    members = np.array([0, 3, 6])
    line = Line.of(subject, members, np.array([1.0, -2.0, 0.5]), 0.3, -0.1)
    line.follow(subject, 0.05)
    moved = subject.g.copy()
    subject.refresh()
    np.testing.assert_allclose(moved, subject.g, atol=TOL.twin, rtol=0)


def test_a_line_ends_at_a_bound():
    subject = extended_set([0.0, 0.0], [0.25, 0.0, 0.5, 0.0], tube=10.0)
    line = Line.of(subject, np.array([0, 2]), np.array([-1.0, 1.0]), 0.0, 0.0)
    assert line.longest_step(subject, 1.0) == (0.25, 0)
    assert line.longest_step(subject, 0.125) == (0.125, None)
    assert line.longest_step(subject, 0.25) == (0.25, None)  # the end of the line goes first


def test_a_line_ends_where_a_gradient_vanishes():
    subject = extended_set([-3.0, 2.0], [0.0, 0.0, 1.0, 0.0], bias=0.0, tube=0.5)
    np.testing.assert_allclose(subject.g, [3.5, -2.5, -0.5, 1.5])
    none = np.zeros(0)
    line = Line.of(subject, none.astype(np.int64), none, 0.0, 1.0)  # all g rise: E meets zero
    assert line.longest_step(subject, np.inf) == (0.5, 2)
    line = Line.of(subject, none.astype(np.int64), none, -1.0, 0.0)
    step, variable = line.longest_step(subject, np.inf)
    assert (step, variable) == (3.5, 0)


def test_ties_can_be_broken_by_index():
    subject = extended_set([0.0, 0.0], [0.5, 0.0, 0.75, 0.0], tube=10.0)
    line = Line.of(subject, np.array([0, 2]), np.array([-2.0, -3.0]), 0.0, 0.0)
    assert line.longest_step(subject, np.inf) == (0.25, 2)
    assert line.longest_step(subject, np.inf, by_index=True) == (0.25, 0)


def test_a_variable_already_beyond_zero_ends_the_line_at_once():
    """Rounding may have taken g of R below zero; the step has length zero."""
    subject = extended_set([0.0, 2.0], [0.0, 0.0, 1.0, 0.0], tube=0.5)
    subject.g[0] = -1e-15
    none = np.zeros(0)
    line = Line.of(subject, none.astype(np.int64), none, -1.0, 0.0)
    assert line.longest_step(subject, np.inf) == (0.0, 0)


def test_the_linear_term_may_move(rng):
    subject = extended_set(rng.normal(size=4), rng.uniform(0.2, 0.8, size=8))
    linear, before = subject.linear_term, subject.g.copy()
    none = np.zeros(0)
    line = Line.of(subject, none.astype(np.int64), none, 0.0, 0.0, linear_rate=linear)
    line.follow(subject, 0.5)
    np.testing.assert_allclose(subject.g, before - 0.5 * linear, atol=TOL.exact)
