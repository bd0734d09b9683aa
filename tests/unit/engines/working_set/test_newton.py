"""Newton steps on the free variables, against the literal ones."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import kkt, newton
from reference.duals import MODELS
from support.fitting import in_reference_terms
from support.working_sets import Bench, bench_at, nearly_solved
from widestreet._src.engines.working_set import newton as engine

pytestmark = pytest.mark.numeric

every_model = pytest.mark.parametrize("model", MODELS)


def literal(K, dual, beta) -> tuple[np.ndarray, bool]:
    """Reference steps until one is whole, or as many were cut as few free variables may take."""
    for _ in range(50):
        step = newton.newton_step(K, dual, beta)
        beta = step.beta
        if step.theta == 1.0:
            return beta, True
    return beta, False


def free_spread(bench: Bench, beta) -> float:
    """How much F differs among the free variables of a group: zero at their maximiser."""
    dual = in_reference_terms(bench.dual)
    F = np.asarray(kkt.indicator(bench.K, dual, beta), dtype=np.float64)
    free = (dual.lower < beta) & (beta < dual.upper)
    groups = (F[free & (dual.group == g)] for g in range(len(dual.totals)))
    return max((np.ptp(f) for f in groups if len(f)), default=0.0)


def torn(bench: Bench) -> bool:
    """Whether a row is pushed both ways: then there is more than one maximiser, or none."""
    return bench.dual.layers == 2 and bool(bench.work.free().all(axis=0).any())


@every_model
@pytest.mark.parametrize("start", [None, nearly_solved])
def test_steps_are_those_of_the_reference(model, start):
    compared = 0
    for seed in range(8):
        bench = bench_at(model, 40, seed, start)
        if torn(bench):
            continue
        compared += 1
        expected, whole = literal(bench.K, in_reference_terms(bench.dual), bench.beta)
        settled = engine.polish(bench.work)
        # Where two variables meet their bounds together, rounding decides whether one stays free.
        assert settled == whole or free_spread(bench, bench.collect()) <= TOL.twin
        scale = np.abs(bench.dual.upper - bench.dual.lower).max()
        np.testing.assert_allclose(bench.collect(), expected, atol=TOL.newton_rel * scale, rtol=0)
    assert compared or start is None


@every_model
def test_no_step_is_taken_without_memory_for_its_matrix(model):
    bench = bench_at(model, 40, 0, nearly_solved)
    free = int(bench.work.free().sum())
    before = bench.collect()
    bench.work._memory = bench.work.tile.nbytes + 8 * free**2 - 1
    assert not engine.polish(bench.work)
    np.testing.assert_array_equal(bench.collect(), before)


@given(
    seed=st.integers(0, 2**32 - 1), model=st.sampled_from(MODELS), n=st.integers(2, 50),
    double=st.booleans(), d=st.integers(1, 5),
)  # fmt: skip
def test_the_objective_never_falls_and_constraints_hold(seed, model, n, double, d):
    """Nor does anything but the free variables move; whatever the condition of the matrix."""
    bench = bench_at(model, n, seed, double=double, d=d)
    dual = in_reference_terms(bench.dual)
    K = bench.work.tile[bench.work.present, bench.work.present].astype(np.float64)
    value, beta = kkt.dual_objective(K, dual, bench.beta), bench.beta
    for _ in range(4):
        fixed = (beta == dual.lower) | (beta == dual.upper)
        whole = engine.polish(bench.work)
        after = bench.collect()
        assert np.array_equal(after[fixed], beta[fixed])
        assert (after >= dual.lower).all()
        assert (after <= dual.upper).all()
        assert kkt.feasibility(dual, after) <= TOL.feasibility
        gained = kkt.dual_objective(K, dual, after)
        terms = np.abs(dual.target * after).sum() + float(abs(kkt.quadratic(K, after)))
        assert gained >= value - TOL.monotone * terms
        value, beta = gained, after
        bench.beta = after
        scale = max(1.0, np.abs(after).sum())
        np.testing.assert_allclose(
            bench.work.score[:n], K @ after.sum(axis=0), rtol=0, atol=TOL.twin * scale
        )
        if whole:
            break


@every_model
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_whole_step_settles_the_free_variables(model, kernel):
    """Also if the matrix alone is singular: of low rank, or with both copies of a row free."""
    settled = 0
    for seed in range(8):
        bench = bench_at(model, 40, seed, nearly_solved, kernel=kernel)
        if engine.polish(bench.work):
            settled += 1
            assert free_spread(bench, bench.collect()) <= TOL.violation
    assert settled > 0


@every_model
def test_it_finishes_what_pair_steps_began(model):
    """In turns, a step each way, the violation goes to nothing."""
    bench = bench_at(model, 40, 3, nearly_solved)
    dual = in_reference_terms(bench.dual)
    for _ in range(50):
        if engine.polish(bench.work) and bench.work.solve(TOL.violation, 1, 1024)[1] == 0:
            break
    assert kkt.kkt_violation(bench.K, dual, bench.collect()) <= TOL.violation


def test_a_step_cut_short_ends_on_the_bound(rng):
    bench = bench_at("c_svc", 2, 0, lambda K, dual: 0.5 * (dual.lower + dual.upper))
    bench.work.upper *= 0.2  # the maximiser lies beyond
    bench.work.lower *= 0.2
    bench.work.beta[:, :2] = 0.5 * (bench.work.lower + bench.work.upper)[:, :2]
    bench.work.score[:2] = bench.K @ bench.work.beta[0, :2]
    assert not engine.polish(bench.work)
    bound = bench.work.lower[0, :2] + bench.work.upper[0, :2]
    assert np.array_equal(bench.work.beta[0, :2], bound)


def test_nothing_to_do():
    """No free variable, or one alone, which is where its sum wants it: nothing moves."""
    bench = bench_at("c_svc", 20, 0, lambda K, dual: np.zeros_like(dual.target))
    assert not engine.polish(bench.work)
    assert not bench.collect().any()
    bench.work.beta[0, 0] = 0.5 * (bench.dual.lower + bench.dual.upper)[0, 0]
    before = bench.collect()
    assert engine.polish(bench.work)
    assert np.array_equal(bench.collect(), before)


def test_too_many_free_variables(monkeypatch):
    bench = bench_at("c_svc", 20, 1, lambda K, dual: 0.3 * (dual.lower + dual.upper))
    monkeypatch.setattr(engine, "MAX_FREE", 19)
    assert not engine.polish(bench.work)
    assert np.array_equal(bench.collect(), bench.beta)


@every_model
def test_equal_rows_do_not_stop_it(model):
    """A singular matrix: the objective rises all the same, or nothing moves."""
    bench = bench_at(model, 30, 2)
    work = bench.work
    for copied in range(0, 10, 2):
        work.tile[copied + 1] = work.tile[copied]
        work.tile[:, copied + 1] = work.tile[:, copied]
    K = work.tile[work.present, work.present].astype(np.float64)
    work.score[work.present] = K @ bench.beta.sum(axis=0)
    dual = in_reference_terms(bench.dual)
    engine.polish(work)
    before, after = (kkt.dual_objective(K, dual, b) for b in (bench.beta, bench.collect()))
    assert after >= before - TOL.monotone * abs(before)
    assert kkt.feasibility(dual, bench.collect()) <= TOL.feasibility


def test_the_sum_is_settled_without_rounding_and_scores_follow():
    bench = bench_at("c_svc", 30, 3, kernel="linear")
    work, others = bench.work, np.array([0.1, 0.2, 0.3, -0.6])
    engine.settle_sum(work, others, 0.0)
    beta = work.beta[:, work.present]
    exact = fsum([*beta.ravel().tolist(), *others.tolist()])
    assert abs(exact) <= np.spacing(np.abs(beta).max())
    np.testing.assert_allclose(work.score[work.present], bench.K @ beta.sum(axis=0), atol=TOL.twin)


def test_a_sum_without_free_variables_stays():
    bench = bench_at("c_svc", 30, 3, lambda K, dual: np.zeros_like(dual.target))
    engine.settle_sum(bench.work, np.array([0.5]), 0.0)
    assert not bench.work.beta[:, bench.work.present].any()
