"""Chains of problems over one kernel matrix."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels
from support.machines import GAMMA, data
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.formulations import CSVC, EpsilonSVR, NuSVC, NuSVR
from widestreet._src.tuning import chain
from widestreet._src.tuning.chain import solve_next, solve_together

CHAINS = {
    "svc": [CSVC(C=C) for C in (0.1, 10.0, 1000.0, 1.0)],
    "nu_svc": [NuSVC(nu=nu) for nu in (0.2, 0.5, 0.1)],
    "svr": [EpsilonSVR(C=C, epsilon=e) for C in (0.1, 10.0) for e in (0.1, 0.5)],
    "nu_svr": [NuSVR(C=C, nu=nu) for C in (0.1, 10.0) for nu in (0.2, 0.6)],
}


def duals(kind: str, held_out: slice = slice(0, 20)) -> tuple[np.ndarray, list[tuple[Dual, float]]]:
    """Kernel matrix and problems of a chain, some rows held out."""
    X, y = data(kind)
    weight = np.ones(len(y))
    weight[held_out] = 0.0
    K = kernels.matrix("rbf", X, gamma=GAMMA)
    target = y.astype(np.float64)
    return K, [(one.dual(target, one.box(weight)), one.scale) for one in CHAINS[kind]]


@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_solves_what_cold_starts_solve(kind):
    K, problems = duals(kind)
    before = None
    for dual, scale in problems:
        cold = solve_next(K, dual, scale, TOL.violation, None, Poll())
        before = solve_next(K, dual, scale, TOL.violation, before, Poll())
        assert before.violation <= TOL.violation
        assert cold.violation <= TOL.violation
        expected = dual.objective(cold.beta, cold.score)
        found = dual.objective(before.beta, before.score)
        assert found == pytest.approx(expected, rel=TOL.strategies_rel)


@pytest.mark.parametrize("kind", CHAINS)
def test_points_are_feasible_and_scores_are_those_of_all_rows(kind):
    K, problems = duals(kind)
    before = None
    for dual, scale in problems:
        before = solve_next(K, dual, scale, TOL.violation, before, Poll())
        beta = before.beta
        assert ((dual.lower <= beta) & (beta <= dual.upper)).all()
        assert not beta[:, :20].any()
        size = np.abs(beta).sum()
        for g, total in enumerate(dual.total):
            assert abs(beta[dual.group == g].sum() - total) <= 100 * TOL.feasibility * size
        np.testing.assert_allclose(before.score, K @ beta.sum(axis=0), atol=TOL.decision)


def test_a_fold_starts_from_another_one():
    K, [(dual, scale), *_] = duals("svc")
    _, [(other, _), *_] = duals("svc", slice(40, 60))
    point = solve_next(K, dual, scale, TOL.violation, None, Poll())
    moved = solve_next(K, other, scale, TOL.violation, point, Poll())
    cold = solve_next(K, other, scale, TOL.violation, None, Poll())
    assert other.objective(moved.beta, moved.score) == pytest.approx(
        other.objective(cold.beta, cold.score), rel=TOL.strategies_rel
    )


def test_free_variables_stay_where_they_are_for_a_larger_C():
    X, y = data("svc")
    K = np.asarray(kernels.matrix("rbf", X, X, gamma=1e4)) + 0.1 * np.eye(
        len(y)
    )  # all variables are free
    target, one = y.astype(np.float64), np.ones(len(y))
    large, larger = CSVC(C=100.0), CSVC(C=1000.0)
    point = solve_next(K, large.dual(target, 100.0 * one), 100.0, TOL.violation, None, Poll())
    after = solve_next(K, larger.dual(target, 1000.0 * one), 1000.0, TOL.violation, point, Poll())
    assert point.ray(larger.dual(target, 1000.0 * one), 1000.0) == pytest.approx(1.0)
    assert after.steps <= point.steps


def test_newton_steps_between_pair_steps_change_no_result(monkeypatch):
    K, problems = duals("svc")
    expected = [solve_next(K, *one, TOL.violation, None, Poll()) for one in problems]
    monkeypatch.setattr(chain, "_LEAST_ORDER", 0)
    monkeypatch.setattr(chain, "_FACTOR", 1e-6)  # a Newton step after every pair step
    for (dual, scale), point in zip(problems, expected, strict=True):
        found = solve_next(K, dual, scale, TOL.violation, None, Poll())
        assert dual.objective(found.beta, found.score) == pytest.approx(
            dual.objective(point.beta, point.score), rel=TOL.strategies_rel
        )


def together(K: np.ndarray, problems: list[tuple[Dual, float]], poll: Poll) -> list:
    """Points of a chain that is solved in one call."""
    tile = np.ascontiguousarray(K)
    some, scales = zip(*problems, strict=True)
    tols = [TOL.violation] * len(some)
    return list(solve_together(tile, some, scales, tols, None, poll))


@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_in_one_call_solves_what_single_calls_solve(kind):
    K, problems = duals(kind)
    found = together(K, problems, Poll())
    assert len(found) == len(problems)
    for (point, seconds), (dual, scale) in zip(found, problems, strict=True):
        alone = solve_next(K, dual, scale, TOL.violation, None, Poll())
        assert point.violation <= TOL.violation
        assert seconds > 0
        assert ((dual.lower <= point.beta) & (point.beta <= dual.upper)).all()
        size = np.abs(point.beta).sum()
        for g, total in enumerate(dual.total):
            assert abs(point.beta[dual.group == g].sum() - total) <= 100 * TOL.feasibility * size
        coef = point.beta.sum(axis=0)
        np.testing.assert_allclose(point.score, K @ coef, atol=TOL.decision)
        assert point.norm == pytest.approx(float(coef @ K @ coef), rel=TOL.strategies_rel)
        assert dual.objective(point.beta, point.score) == pytest.approx(
            dual.objective(alone.beta, alone.score), rel=TOL.strategies_rel
        )


def test_a_chain_in_one_call_ends_where_newton_steps_are_faster(rng):
    X = rng.normal(size=(700, 2))
    y = np.where(rng.random(700) < 0.5, 1.0, -1.0)
    K = kernels.matrix("rbf", X, gamma=0.5)
    some = [CSVC(C=C) for C in (1e-3, 1e4, 1e5)]
    problems = [(one.dual(y, one.box(np.ones(700))), one.scale) for one in some]
    found = together(K, problems, Poll())
    assert 0 < len(found) < len(problems)
    assert found[-1][0].violation > TOL.violation
    dual, point = problems[len(found) - 1][0], found[-1][0]
    np.testing.assert_allclose(point.score, K @ point.beta.sum(axis=0), rtol=TOL.strategies_rel)
    assert ((dual.lower <= point.beta) & (point.beta <= dual.upper)).all()


def test_a_chain_in_one_call_ends_if_no_point_is_good_enough():
    """Rounding keeps the violation above a tolerance of zero."""
    K, problems = duals("svc")
    dual, scale = problems[2]
    [(point, _)] = solve_together(K, [dual], [scale], [0.0], None, Poll())
    assert 0 < point.violation <= TOL.violation
    assert point.steps <= 400 * dual.rows


def test_scratch_memory_is_lent_to_one_problem_at_a_time_and_kept_for_the_next():
    scratches = chain.Scratches()
    with scratches.one() as first, scratches.one() as second:
        assert first is not second
        memory = first.lend(100)
        assert first.lend(50) is memory
        assert scratches.bytes == 0  # of those that are idle
    assert scratches.bytes == 100
    with scratches.one() as again:
        assert again in (first, second)
    scratches.free()
    assert scratches.bytes == 0
