"""The first interior point and its steps."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.low_rank import EVERY, factor, fixed, problem
from widestreet._src.engines.interior.iterate import Step, first_iterate, scores
from widestreet._src.engines.interior.newton_system import group_sums
from widestreet._src.problems.formulations import nu_svc


@pytest.mark.parametrize("C", [1e-3, 1e8])
@pytest.mark.parametrize("model", EVERY)
def test_the_first_point_is_feasible_and_strictly_inside(model, C):
    gram, dual = problem(model, "linear", 2, C=C)
    dual = fixed(dual, [0, 5]) if not model.startswith("nu") else dual
    at = first_iterate(factor(gram, dual), dual)
    inside = (at.beta > dual.lower) & (at.beta < dual.upper)
    assert inside[at.movable].all()
    assert (at.beta == 0)[~at.movable].all()
    sums = group_sums(at.beta, dual.group, dual.groups)
    width = (dual.upper - dual.lower).sum()
    np.testing.assert_allclose(sums, dual.total, atol=TOL.feasibility * width)
    for positive in (at.sl, at.su, at.zl, at.zu):
        assert (positive[at.movable] > 0).all()


def test_the_multipliers_cancel_the_gradient():
    gram, dual = problem("c_svc", "poly", 2)
    found = factor(gram, dual)
    at = first_iterate(found, dual)
    gradient = scores(found, dual, at.beta, at.inner) - dual.target
    rest = gradient - at.multiplier[dual.group] - at.zl + at.zu
    assert np.abs(rest).max() <= TOL.twin * np.abs(gradient).max()


def test_variables_without_a_choice_take_their_only_value():
    y = np.array([1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
    dual = nu_svc(y, 2 / 3)  # the largest nu: both positive rows are at their bound
    gram, _ = problem("c_svc", "linear", 0, n=6)
    at = first_iterate(factor(gram, dual), dual)
    assert np.array_equal(at.movable, y[None] < 0)
    assert np.array_equal(at.beta[0, :2], [1.0, 1.0])


def test_the_longest_step_reaches_the_first_bound():
    gram, dual = problem("c_svc", "linear", 2)
    at = first_iterate(factor(gram, dual), dual)
    zero = np.zeros_like(at.beta)
    down = -2.0 * at.sl
    step = Step(down, np.zeros(1), np.zeros_like(at.inner), zero, zero)
    assert step.longest(at) == pytest.approx(0.5)
    assert np.min(np.abs(at.moved(step.longest(at), step).sl)) <= TOL.twin * at.sl.max()
    assert Step(zero, np.zeros(1), at.inner, zero, zero).longest(at) == 1.0


def test_small_slacks_with_large_multipliers_approach_their_bounds():
    gram, dual = problem("c_svc", "linear", 2)
    at = first_iterate(factor(gram, dual), dual)
    at.sl[0, 3], at.zl[0, 3] = 1e-12, 1.0
    at.su[0, 4], at.zu[0, 4] = 1e-12, 1.0
    at.zl[0, 5] = at.zu[0, 5] = 1e-12
    lower, upper = at.bounds_approached()
    assert lower[0, 3]
    assert upper[0, 4]
    assert not (lower | upper)[0, 5]
