"""Small problems: tile, pair steps and Newton steps in one native call, against the QP."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from conftest import TOL
from reference import duals, kkt, smo
from reference.duals import MODELS
from reference.qp import solve_qp
from support.problems import random_feasible, toy_model
from widestreet import _core
from widestreet._src.kernels import kernels
from widestreet._src.kernels.gram import Gram
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric

every_model = pytest.mark.parametrize("model", MODELS)
MANY = 1 << 20
GAMMA = 0.3


class Reached(NamedTuple):
    beta: np.ndarray
    score: np.ndarray
    reports: np.ndarray
    bias: np.ndarray


@cache
def problem(model: str, n: int = 40):
    """Rows, K, the dual and its best objective; boxes differ."""
    weight = np.random.default_rng(7).choice([0.1, 0.5, 1.0, 2.0], n)
    toy, K, qp = toy_model(model, n, C=3.0, weight=weight)
    best = -solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper).objective
    return toy, K, duals.in_beta_space(qp), best


def native(toy):
    gram = Gram(kernels.RBF(toy.params["gamma"]), as_rows(toy.X, centred=True))
    assert gram.native is not None
    return gram.native


def solve(toy, dual, beta, *, ends=None, place=None, steps=MANY, tol=TOL.smo_tol, threads=1):
    beta = np.array(beta, dtype=np.float64)
    n = beta.shape[1]
    ends = np.array([n] if ends is None else ends)
    score = np.full(n, np.nan)
    variables = _core.Variables(
        *(np.ascontiguousarray(a, dtype=np.float64) for a in (dual.target, dual.lower, dual.upper)),
        np.ascontiguousarray(dual.group, dtype=np.uint8),
        groups=len(dual.totals),
    )
    reports, bias = _core.solve_small(
        *native(toy),
        np.arange(n) if place is None else place,
        variables,
        beta,
        score,
        end=ends,
        max_steps=np.full(len(ends), steps),
        tol=tol,
        threads=threads,
    )
    return Reached(beta, score, reports, bias)


@every_model
def test_reaches_the_optimum_and_says_what_it_is(model):
    toy, K, dual, best = problem(model)
    found = solve(toy, dual, smo.feasible_start(dual))
    violation, steps, support, free, linear, norm, loss, values = found.reports[0]
    assert kkt.feasibility(dual, found.beta) <= TOL.feasibility
    assert kkt.kkt_violation(K, dual, found.beta) <= 2 * TOL.smo_tol
    assert kkt.dual_objective(K, dual, found.beta) == pytest.approx(best, rel=TOL.smo_rel)
    assert violation <= TOL.smo_tol
    assert steps > 0
    assert values == len(K) ** 2
    coef = found.beta.sum(axis=0)
    slack = TOL.scan_float64 * (1 + np.abs(found.beta).sum())
    np.testing.assert_allclose(found.score, K @ coef, rtol=0, atol=slack)
    assert support == np.count_nonzero(coef)
    assert free == ((dual.lower < found.beta) & (found.beta < dual.upper)).sum()
    assert linear == pytest.approx((dual.target * found.beta).sum(), rel=TOL.twin)
    assert norm == pytest.approx(coef @ K @ coef, rel=TOL.smo_rel)
    excess = dual.target - K @ coef - found.bias[0][dual.group]
    expected = np.maximum(dual.upper * excess, dual.lower * excess).sum()
    assert loss == pytest.approx(expected, abs=slack * np.abs(dual.upper - dual.lower).sum())


@every_model
def test_newton_steps_leave_the_free_variables_exact(model):
    """However loosely pair steps end."""
    toy, K, dual, _ = problem(model)
    found = solve(toy, dual, smo.feasible_start(dual), tol=1e-3)
    F = np.asarray(kkt.indicator(K, dual, found.beta), dtype=np.float64)
    free = (dual.lower < found.beta) & (found.beta < dual.upper)
    for g in range(len(dual.totals)):
        of_group = F[free & (dual.group == g)]
        assert len(of_group) < 2 or np.ptp(of_group) <= 1e3 * TOL.scan_float64


@every_model
def test_without_steps_nothing_moves(model, rng):
    toy, K, dual, _ = problem(model)
    start = random_feasible(dual, rng)
    found = solve(toy, dual, start, steps=0)
    assert np.array_equal(found.beta, start)
    expected = K @ start.sum(axis=0)
    np.testing.assert_allclose(found.score, expected, rtol=0, atol=TOL.scan_float64 * 100)
    assert found.reports[0, 0] == pytest.approx(
        kkt.kkt_violation(K, dual, start), abs=TOL.scan_float64 * 100
    )


@every_model
def test_no_more_steps_than_are_allowed(model):
    toy, _, dual, _ = problem(model)
    for steps in (1, 5):
        found = solve(toy, dual, smo.feasible_start(dual), steps=steps)
        assert found.reports[0, 1] == steps


@pytest.mark.parametrize("threads", [1, 3])
def test_many_problems_are_each_of_them_alone(threads, rng):
    """Of any size, over the same rows; a tile of several strips among them."""
    toy, _, qp = toy_model("c_svc", 330)
    dual = duals.in_beta_space(qp)
    places = [rng.permutation(330)[:n] for n in (3, 40, 1, 330, 17, 129)]
    place = np.concatenate(places)
    ends = np.cumsum([len(rows) for rows in places])
    every = duals.BetaDual(
        *(a[:, place] for a in (dual.target, dual.lower, dual.upper, dual.group)), dual.totals
    )
    start = np.zeros_like(every.target)
    found = solve(toy, every, start, ends=ends, place=place, threads=threads)
    for p, (rows, end) in enumerate(zip(places, ends, strict=True)):
        part = slice(end - len(rows), end)
        one = duals.BetaDual(
            *(a[:, rows] for a in (dual.target, dual.lower, dual.upper, dual.group)), dual.totals
        )
        alone = solve(toy, one, np.zeros_like(one.target), place=rows)
        assert np.array_equal(found.beta[:, part], alone.beta)
        assert np.array_equal(found.score[part], alone.score)
        assert np.array_equal(found.reports[p], alone.reports[0])
        assert np.array_equal(found.bias[p], alone.bias[0])


def test_what_does_not_fit_is_refused():
    toy, _, dual, _ = problem("c_svc")
    start = np.zeros_like(dual.target)
    for ends in ([39], [41], [20, 20, 40], [0, 40]):
        with pytest.raises(ValueError, match="part"):
            solve(toy, dual, start, ends=ends)
    with pytest.raises(ValueError, match="row index out of range"):
        solve(toy, dual, start, place=np.arange(1, 41))
