"""The extended set: lines, where they end, and the thresholds that are reported."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.engines.insvr.extended_set import ERROR, MARGIN, REST, Extended


def extended(y, alpha, C: float = 1.0, bias: float = 0.0, tube: float = 0.0) -> Extended:
    """Samples that know nothing of each other (K = 1), at a given point; alpha per variable."""
    subject = Extended(C)
    for i, target in enumerate(y):
        subject.append(np.zeros(i), 1.0, target)
    subject.alpha[:] = alpha
    subject.state[:] = np.select([subject.alpha == 0, subject.alpha == C], [REST, ERROR], MARGIN)
    subject.bias, subject.tube = bias, tube
    subject.refresh()
    return subject


def test_more_samples_than_there_was_room_for(rng):
    """Everything moves along when memory is taken anew, also the gradient."""
    subject = Extended(1.0)
    K, y = np.cov(rng.normal(size=(40, 50))), rng.normal(size=40)
    for i in range(40):
        subject.append(K[:i, i], K[i, i], y[i])
        subject.alpha[-2:] = 0.25, 0.5
        subject.refresh()
    np.testing.assert_array_equal(subject.K, K)
    np.testing.assert_array_equal(subject.y, y)
    z = np.tile([1.0, -1.0], 40)
    Q = np.outer(z, z) * np.repeat(np.repeat(K, 2, axis=0), 2, axis=1)
    g = Q @ subject.alpha - z * np.repeat(y, 2)
    np.testing.assert_allclose(subject.g, g, atol=TOL.twin, rtol=0)
    every = np.arange(80)
    np.testing.assert_allclose(subject.Q(every, every), Q, atol=TOL.exact, rtol=0)


def test_a_line_changes_what_it_says(rng):
    subject = extended(rng.normal(size=5), rng.uniform(0.2, 0.8, size=10))
    members = np.array([0, 3, 6])
    line = subject.move(members, np.array([1.0, -2.0, 0.5]), 0.3, -0.1)
    subject.advance(line, 0.05)
    moved = subject.g.copy()
    subject.refresh()
    np.testing.assert_allclose(moved, subject.g, atol=TOL.twin, rtol=0)


def test_a_line_ends_at_a_bound():
    subject = extended([0.0, 0.0], [0.25, 0.0, 0.5, 0.0], tube=10.0)
    line = subject.move(np.array([0, 2]), np.array([-1.0, 1.0]), 0.0, 0.0)
    assert subject.largest(line, 1.0) == (0.25, 0)
    assert subject.largest(line, 0.125) == (0.125, None)
    assert subject.largest(line, 0.25) == (0.25, None)  # the end of the line goes first


def test_a_line_ends_where_a_gradient_vanishes():
    subject = extended([-3.0, 2.0], [0.0, 0.0, 1.0, 0.0], bias=0.0, tube=0.5)
    np.testing.assert_allclose(subject.g, [3.5, -2.5, -0.5, 1.5])
    none = np.zeros(0)
    line = subject.move(none.astype(np.int64), none, 0.0, 1.0)  # all g rise: E meets zero
    assert subject.largest(line, np.inf) == (0.5, 2)
    line = subject.move(none.astype(np.int64), none, -1.0, 0.0)
    step, who = subject.largest(line, np.inf)
    assert (step, who) == (3.5, 0)


def test_ties_can_be_broken_by_index():
    subject = extended([0.0, 0.0], [0.5, 0.0, 0.75, 0.0], tube=10.0)
    line = subject.move(np.array([0, 2]), np.array([-2.0, -3.0]), 0.0, 0.0)
    assert subject.largest(line, np.inf) == (0.25, 2)
    assert subject.largest(line, np.inf, by_index=True) == (0.25, 0)


def test_thresholds_are_unique_with_free_variables():
    """Scores 0.5 and -0.5: b + e = 1 - 0.5, and -b + e = -(3 + 0.5)."""
    subject = extended([1.0, 3.0], [0.5, 0.0, 0.0, 0.5], bias=7.0, tube=7.0)
    assert subject.thresholds() == pytest.approx((2.0, -1.5))


def test_thresholds_are_the_middle_of_what_is_possible():
    """No free variable, scores 1, 0, -1, 0: b + e in [3, 5] and -b + e in [-1, 1]."""
    subject = extended([6.0, 1.0, -2.0, 3.0], [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    up, down = subject.interval(0), subject.interval(1)
    assert (up.low, up.high, down.low, down.high) == (3.0, 5.0, -1.0, 1.0)
    assert subject.thresholds() == (2.0, 2.0)


def test_a_tube_is_not_negative_if_it_need_not_be():
    """As may be with nu = 1: b + e in [-3, 1] and -b + e in [-3, -1], but e = 0 is possible."""
    subject = extended([4.0, -4.0, 1.0], [1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    up, down = subject.interval(0), subject.interval(1)
    assert (up.low, up.high, down.low, down.high) == (-3.0, 1.0, -3.0, -1.0)
    assert subject.thresholds() == (1.0, 0.0)


def test_variables_at_a_bound_leave_the_margin():
    subject = extended([0.0, 0.0], [0.5, 1e-14, 1 - 1e-14, 0.0])
    subject.drop_bound()
    np.testing.assert_array_equal(subject.alpha, [0.5, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(subject.state, [MARGIN, REST, ERROR, REST])
    assert subject.margin.tolist() == [0]
