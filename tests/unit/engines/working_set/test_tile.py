"""The working set: rows come and go, the tile stays the kernel matrix of those present."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import duals as reference_duals
from reference import kkt, shard
from reference.duals import MODELS
from support.fitting import in_reference_terms
from support.problems import random_feasible
from support.working_sets import Bench
from widestreet._src.engines.working_set import tile

pytestmark = pytest.mark.numeric

every_model = pytest.mark.parametrize("model", MODELS)


def check(bench: Bench, ids: list[int]) -> None:
    """The arrays hold exactly the given rows, in some order, each with what belongs to it."""
    work = bench.work
    here = work.ids[work.present]
    assert work.size == len(ids)
    assert sorted(here) == sorted(ids)
    for name in ("target", "lower", "upper", "group"):
        part = getattr(work, name)[:, work.present]
        assert np.array_equal(part, getattr(bench.dual, name)[:, here]), name
    assert np.array_equal(work.beta[:, work.present], bench.beta[:, here])
    np.testing.assert_allclose(work.score[work.present], bench.score[here], rtol=0, atol=TOL.twin)
    values = work.tile[work.present, work.present]
    allowed = TOL.kernel_float64 if work.double else TOL.kernel_float32
    np.testing.assert_allclose(values, bench.K[np.ix_(here, here)], rtol=0, atol=allowed)
    assert np.array_equal(values, values.T)


@given(
    seed=st.integers(0, 2**32 - 1), model=st.sampled_from(MODELS), double=st.booleans(),
    rounds=st.integers(1, 8),
)  # fmt: skip
def test_rows_come_and_go(seed, model, double, rounds):
    bench = Bench(model, 60, seed)
    bench.beta = random_feasible(in_reference_terms(bench.dual), bench.rng)
    if double:
        bench.work.use_double()
    present: list[int] = []
    for _ in range(rounds):
        work = bench.work
        leaving = bench.rng.random(work.size) < bench.rng.choice([0.0, 0.3, 1.0])
        present = [int(i) for i in work.ids[work.present][~leaving]]
        if bench.rng.random() < 0.5:  # first out, then in, or both at once
            work.exchange(leaving)
            check(bench, present)
            leaving = None
        absent = np.setdiff1d(np.arange(60), present)
        new = bench.rng.permutation(absent)[: bench.rng.integers(0, len(absent) + 1)]
        bench.admit(new, leaving)
        present += [int(i) for i in new]
        check(bench, present)
    bench.work.use_double()
    assert bench.work.double
    check(bench, present)


def test_only_newcomers_are_computed():
    bench = Bench("c_svc", 60, 0)
    bench.admit(np.arange(20))
    assert bench.work.poll.kernel_values == 20 * 20
    bench.admit(np.arange(20, 25))
    assert bench.work.poll.kernel_values == 20 * 20 + 5 * 25
    bench.work.exchange(np.arange(25) < 10)
    bench.admit(np.arange(0))
    assert bench.work.poll.kernel_values == 20 * 20 + 5 * 25


def test_arrays_grow_no_further_than_the_capacity():
    bench = Bench("c_svc", 200, 0, capacity=100)
    for a in range(0, 100, 20):
        bench.admit(np.arange(a, a + 20))
    assert len(bench.work.tile) <= 112  # the capacity, rounded up to 16


def test_a_large_tile_is_copied_once_for_every_doubling(monkeypatch):
    monkeypatch.setattr(tile, "_ROOMS", (16,))
    bench = Bench("c_svc", 200, 0, capacity=200)
    lengths = []
    for row in range(200):
        bench.admit(np.arange(row, row + 1))
        lengths.append(len(bench.work.tile))
    check(bench, list(range(200)))
    assert len(np.unique(lengths)) <= 2 + np.log2(200 / 16)


@every_model
def test_solve_reaches_the_tolerance_and_reports_it(model):
    bench = Bench(model, 50, 1)
    bench.beta = bench.dual.feasible_point()
    bench.work.use_double()
    bench.admit(np.arange(50))
    violation, steps = bench.work.solve(TOL.smo_tol, 1 << 20, 1024)
    beta, dual = bench.collect(), in_reference_terms(bench.dual)
    assert steps > 0
    assert violation <= TOL.smo_tol
    assert kkt.kkt_violation(bench.K, dual, beta) <= TOL.violation
    assert kkt.feasibility(dual, beta) <= TOL.feasibility
    violation, steps = bench.work.solve(TOL.smo_tol, 1 << 20, 1024)
    assert steps == 0


@every_model
def test_solve_of_a_part_holds_the_rest(model):
    """Rows outside keep their coefficients, and their share of the scores."""
    bench = Bench(model, 50, 2)
    bench.beta = random_feasible(in_reference_terms(bench.dual), bench.rng)
    bench.work.use_double()
    bench.admit(np.arange(10, 40))
    violation, _ = bench.work.solve(TOL.smo_tol, 1 << 20, 1024)
    assert violation <= TOL.smo_tol
    beta, dual = bench.collect(), in_reference_terms(bench.dual)
    outside = np.r_[0:10, 40:50]
    assert np.array_equal(beta[:, outside], bench.beta[:, outside])
    assert kkt.feasibility(dual, beta) <= TOL.feasibility
    before = kkt.dual_objective(bench.K, dual, bench.beta)
    assert kkt.dual_objective(bench.K, dual, beta) > before
    bench.beta = beta
    inside = bench.work.ids[bench.work.present]
    np.testing.assert_allclose(
        bench.work.score[bench.work.present], bench.score[inside], rtol=0, atol=TOL.twin
    )


def test_solve_respects_the_steps():
    bench = Bench("c_svc", 50, 3)
    bench.admit(np.arange(50))
    for steps in (1, 5):
        assert bench.work.solve(TOL.smo_tol, steps, 1024)[1] == steps


@every_model
def test_what_a_working_set_says_of_itself(model):
    bench = Bench(model, 50, 4)
    dual = in_reference_terms(bench.dual)
    bench.beta = random_feasible(dual, bench.rng)
    bench.admit(bench.rng.permutation(50)[:30])
    work, ids = bench.work, bench.work.ids[:30]
    arrays = (a[:, ids] for a in (dual.target, dual.lower, dual.upper, dual.group))
    part = reference_duals.BetaDual(*arrays, dual.totals)
    beta, score = bench.beta[:, ids], work.score[work.present]
    assert np.array_equal(work.indicator(), part.target - score)
    assert np.array_equal(work.may_grow(), beta < part.upper)
    assert np.array_equal(work.may_shrink(), beta > part.lower)
    assert np.array_equal(work.free(), (beta < part.upper) & (beta > part.lower))
    assert np.array_equal(work.coef(), beta.sum(axis=0))
    assert np.array_equal(np.array(work.extremes()), shard.extremes(score, beta, part).T)
    bias = bench.rng.normal(size=len(dual.totals))
    highest, lowest = work.extremes()
    if (highest >= lowest).all():
        assert np.array_equal(work.slack(bias), -shard.excess(score, beta, part, bias))


def test_rows_that_set_the_interval_of_the_bias_are_near_violating():
    """Whatever bias in the interval is taken: else two rows may take turns in a full set."""
    bench = Bench("c_svc", 40, 3)
    bench.admit(np.arange(40))
    bench.work.upper *= 1e-3  # so that all that count are at a bound
    bench.work.lower *= 1e-3
    while bench.work.solve(TOL.smo_tol, 10_000, 1024)[0] > TOL.smo_tol:
        pass
    highest, lowest = bench.work.extremes()
    assert not bench.work.free().any()
    assert highest < lowest
    slack = bench.work.slack(0.5 * (highest + lowest))
    assert slack.min() == 0
    assert np.count_nonzero(slack == 0) >= 2


def test_an_empty_working_set():
    bench = Bench("nu_svr", 10, 5)
    bench.admit(np.arange(4))
    bench.work.exchange(np.ones(4, dtype=bool))
    check(bench, [])
    highest, lowest = bench.work.extremes()
    assert (highest == -np.inf).all()
    assert (lowest == np.inf).all()
    bench.admit(np.arange(3, 7))
    check(bench, [3, 4, 5, 6])


@pytest.mark.parametrize("model", ["nu_svc", "nu_svr"])
@pytest.mark.parametrize("double", [True, False])
def test_groups_are_put_together_in_memory_that_is_lent(model, double):
    """The core would take as much of its own for each of its blocks."""
    bench = Bench(model, 50, 0)
    if double:
        bench.work.use_double()
    bench.beta = bench.dual.feasible_point()
    bench.admit(np.arange(50))
    bench.work.solve(TOL.violation, 10, 1024)
    places = sum(-(-np.count_nonzero(bench.dual.group[0] == g) // 16) * 16 for g in (0, 1))
    assert len(bench.work.scratch.memory) >= bench.work.tile.itemsize * places**2 + 64


@every_model
def test_a_set_of_all_rows_over_their_kernel_matrix(model):
    bench = Bench(model, 60, 3)
    beta = bench.dual.feasible_point()
    score = bench.K @ beta.sum(axis=0)
    before = bench.dual.objective(beta, score)
    work = tile.whole_set(bench.K, bench.dual, beta, score)
    violation, _ = work.solve(TOL.violation, 10**6, 60)
    assert violation <= TOL.violation
    np.testing.assert_allclose(score, bench.K @ beta.sum(axis=0), atol=TOL.decision)
    assert bench.dual.objective(beta, score) >= before - TOL.monotone * abs(before)


@pytest.mark.parametrize("looks", [0, 1])
@pytest.mark.parametrize("leave", [0, 5, 15])
def test_rows_whose_kernel_values_were_not_computed_do_not_enter(leave, looks, monkeypatch):
    """When the time for rounds is over in between: rounds may continue after an examination."""
    monkeypatch.setattr(tile, "_ROOMS", (16,))
    bench = Bench("c_svc", 100, 0)
    bench.admit(np.arange(20))
    left = iter(range(looks))

    def look() -> None:
        if next(left, None) is None:
            raise RuntimeError("over")

    leaving = np.arange(20) < leave
    monkeypatch.setattr(bench.work.poll, "look", look)
    with pytest.raises(RuntimeError, match="over"):
        bench.admit(np.arange(20, 100), leaving)
    check(bench, list(range(leave, 20)))
    with pytest.raises(RuntimeError, match="over"):
        bench.work.use_double()
    check(bench, [])
    monkeypatch.setattr(bench.work.poll, "look", lambda: None)
    bench.admit(np.arange(10, 90))
    check(bench, list(range(10, 90)))
