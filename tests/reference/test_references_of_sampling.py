"""The literal versions of iSVM, RandSVM and PRSVM, before anything is compared with them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from conftest import TOL
from reference import kkt, restricted
from reference.isvm import isvm
from reference.prsvm import prsvm
from reference.qp import solve_qp
from reference.randsvm import bound, randsvm
from support.sampled_problems import KERNELS, MODELS, SLIGHT, Case, case, easy

everywhere = pytest.mark.parametrize(("model", "kernel"), [(m, k) for m in MODELS for k in KERNELS])


def best(problem: Case) -> float:
    qp = problem.qp
    return -solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper).objective


def value(problem: Case, point: restricted.Point) -> float:
    return kkt.dual_objective(problem.K, problem.reference, point.beta)


def assert_optimal(problem: Case, point: restricted.Point) -> None:
    assert kkt.feasibility(problem.reference, point.beta) <= TOL.feasibility
    assert value(problem, point) == pytest.approx(best(problem), rel=TOL.qp_gap)


def assert_rising(values: list[float]) -> None:
    for one, other in pairwise(values):
        assert other >= one * (1 - TOL.monotone)


# -- the dual on some rows ---------------------------------------------------------------------


@everywhere
def test_all_rows_are_the_whole_problem(model, kernel):
    problem = case(model, kernel)
    point = restricted.solve(problem.K, problem.reference, np.arange(len(problem.K)))
    assert_optimal(problem, point)
    assert restricted.excess(problem.K, problem.reference, point).max() <= restricted.EXACT
    assert 0 < len(point.support) < len(problem.K)


@everywhere
def test_the_start_does_not_change_the_solution(model, kernel):
    problem = case(model, kernel)
    K, dual = problem.K, problem.reference
    first = restricted.solve(K, dual, np.arange(20))
    one, other = (restricted.solve(K, dual, np.arange(40), start) for start in (None, first))
    np.testing.assert_allclose(one.beta, other.beta, atol=TOL.decision)
    assert np.array_equal(one.support, other.support)
    np.testing.assert_allclose(one.bias, other.bias, atol=TOL.decision)


def test_rows_of_one_class_leave_everything_at_zero():
    """The bias is the one end of its interval that there is: the other class violates by two."""
    problem = case("c_svc")
    positive = np.flatnonzero(problem.dual.target[0] > 0)
    point = restricted.solve(problem.K, problem.reference, positive[:5])
    assert not point.beta.any()
    assert np.array_equal(point.bias, [1.0])
    excess = restricted.excess(problem.K, problem.reference, point)
    assert np.array_equal(excess, np.where(problem.dual.target[0] > 0, 0.0, 2.0))


# -- the three algorithms ----------------------------------------------------------------------


@everywhere
def test_isvm_climbs_one_violator_at_a_time(model, kernel):
    problem = case(model, kernel)
    parameters = {"sample_size": 10, "stage_one_size": 30, "scan_fraction": 1.0, "block": 1}
    steps = isvm(problem.K, problem.reference, np.random.default_rng(0), SLIGHT, **parameters)
    assert_rising([value(problem, step.point) for step in steps])
    assert [bool(step.ended) for step in steps].count(True) == 1
    assert [x for step in steps for x in step.passed] == list(range(len(problem.K)))
    for one, other in pairwise(steps):
        entered = set(other.W) - set(one.W)
        assert len(entered) == 1
        assert entered <= set(one.violators)
        left = list(set(one.W) - set(other.W))
        assert not one.point.beta[:, left].any()


@everywhere
def test_randsvm_climbs_to_the_optimum(model, kernel):
    problem = case(model, kernel)
    steps = randsvm(problem.K, problem.reference, np.random.default_rng(0), SLIGHT, k=np.inf, r=60)
    assert_rising([value(problem, step.point) for step in steps])
    assert len(steps) > 1
    assert steps[-1].ended == "violators"
    assert_optimal(problem, steps[-1].point)


def test_randsvm_bound_of_equation_7():
    """At 100,000 rows, epsilon 0.2 and delta 0.9, where the logarithm is just above 13."""
    assert bound(100_000, 0.2, 0.9) == 5202


@pytest.mark.parametrize("sites", [1, 3])
@pytest.mark.parametrize("model", MODELS)
def test_prsvm_ends_at_the_optimum(model, sites):
    problem = easy(model)
    rng = np.random.default_rng(0)
    parameters = {"sites": sites, "r": 24, "delta": 2.0, "max_rounds": 100}
    rounds = prsvm(problem.K, problem.reference, rng, SLIGHT, **parameters)
    site = rounds[-1].sites[rounds[-1].best]
    assert len(rounds) > 1
    assert len(site.V) == 0
    assert_optimal(problem, site.point)


@everywhere
def test_prsvm_deals_copies_and_doubles_violators(model, kernel):
    problem = case(model, kernel)
    rng = np.random.default_rng(0)
    parameters = {"sites": 3, "r": 30, "delta": 0.7, "max_rounds": 5}
    rounds = prsvm(problem.K, problem.reference, rng, SLIGHT, **parameters)
    level = np.zeros(len(problem.K), dtype=np.int64)
    for found in rounds:
        assert found.weight == (2**level).sum()
        assert (found.copies.sum(axis=0) <= 2**level).all()
        assert found.copies.sum() == min(90, found.weight)
        level += sum(np.isin(np.arange(len(level)), s.V) for s in found.sites if s.success)
        assert np.array_equal(level, found.level)
    assert level.any()
