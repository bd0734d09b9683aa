"""Proximal Newton steps: the dual rises, the constraints hold, many bounds are met at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import kkt
from reference.duals import MODELS
from support.fitting import in_reference_terms
from support.working_sets import Bench, bench_at, nearly_solved
from widestreet._src.engines.working_set import proximal_newton as proximal
from widestreet._src.engines.working_set.proximal_newton import leap, taking_part

pytestmark = pytest.mark.numeric

every_model = pytest.mark.parametrize("model", MODELS)


def tile_of(bench: Bench) -> np.ndarray:
    return bench.work.tile[bench.work.present, bench.work.present].astype(np.float64)


def violation_of(bench: Bench) -> float:
    highest, lowest = bench.work.extremes()
    return float(np.max(highest - lowest))


def check_step(bench: Bench, before: np.ndarray) -> None:
    """Constraints, scores and the objective after a step from `before`."""
    K, dual, after = tile_of(bench), in_reference_terms(bench.dual), bench.collect()
    assert (after >= dual.lower).all()
    assert (after <= dual.upper).all()
    assert kkt.feasibility(dual, after) <= TOL.feasibility
    old, new = (kkt.dual_objective(K, dual, b) for b in (before, after))
    terms = np.abs(dual.target * after).sum() + float(abs(kkt.quadratic(K, after)))
    assert new >= old - TOL.monotone * terms
    scale = max(1.0, np.abs(K).max() * np.abs(after).sum())
    np.testing.assert_allclose(
        bench.work.score[bench.work.present], K @ after.sum(axis=0), rtol=0, atol=TOL.twin * scale
    )


@given(
    seed=st.integers(0, 2**32 - 1), model=st.sampled_from(MODELS), n=st.integers(2, 60),
    double=st.booleans(), single=st.booleans(), d=st.integers(1, 5),
    kernel=st.sampled_from(["rbf", "linear"]),
)  # fmt: skip
def test_the_objective_never_falls_and_constraints_hold(seed, model, n, double, single, d, kernel):
    """Whatever the condition of the matrix and the precision of tile and factors."""
    bench = bench_at(model, n, seed, double=double, d=d, kernel=kernel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proximal, "_SINGLE", 0.0 if single else np.inf)
        for _ in range(4):
            before = bench.collect()
            moved = leap(bench.work, TOL.violation)
            assert moved == (not np.array_equal(before, bench.collect()))
            check_step(bench, before)


@every_model
@pytest.mark.parametrize("single", [True, False])
def test_no_step_is_taken_without_memory_for_its_factor(model, single, monkeypatch):
    monkeypatch.setattr(proximal, "_SINGLE", 0.0 if single else np.inf)
    bench = bench_at(model, 60, 0)
    before = bench.collect()
    size = (4 if single else 8) * taking_part(bench.work, TOL.violation) ** 2
    bench.work._memory = bench.work.tile.nbytes + size - 1
    assert not leap(bench.work, TOL.violation)
    np.testing.assert_array_equal(bench.collect(), before)


def test_variables_are_put_on_their_bounds_only_with_memory_for_their_columns():
    bench = bench_at("c_svc", 60, 0)
    face = proximal._face(bench.work, TOL.violation)
    factor = proximal._factor(bench.work, face)
    assert proximal._change(face, factor, 1 << 40) is not None
    assert proximal._change(face, factor, factor.nbytes) is None


@every_model
@pytest.mark.parametrize("single", [True, False])
def test_with_some_pair_steps_it_reaches_the_optimum(model, single, monkeypatch):
    monkeypatch.setattr(proximal, "_SINGLE", 0.0 if single else np.inf)
    bench = bench_at(model, 80, 3, lambda K, dual: Bench(model, 80, 3).dual.feasible_point())
    for _ in range(60):
        leap(bench.work, TOL.violation)
        if bench.work.solve(TOL.violation, 20, 1024)[0] <= TOL.violation:
            break
    beta = bench.collect()
    assert kkt.kkt_violation(bench.K, in_reference_terms(bench.dual), beta) <= 2 * TOL.violation


@every_model
def test_a_step_shrinks_the_violation(model):
    """Free variables and violators at a bound alike: near the end a step is worth many pairs."""
    better = 0
    for seed in range(8):
        bench = bench_at(model, 60, seed, nearly_solved)
        before = violation_of(bench)
        leap(bench.work, TOL.violation)
        better += violation_of(bench) < 0.5 * before
    assert better >= 4


def test_many_variables_reach_their_bounds_and_others_leave_them():
    bench = bench_at("c_svc", 60, 1, lambda K, dual: 0.5 * (dual.lower + dual.upper))
    work = bench.work
    work.score[work.present] = bench.K @ bench.beta.sum(axis=0)
    work.target[:, :12] *= 30.0  # pushed to the far end of their box
    assert leap(work, TOL.violation)
    assert (~work.free()).sum() > 5
    bench = bench_at("c_svc", 60, 1, lambda K, dual: np.zeros_like(dual.target))
    assert leap(bench.work, TOL.violation)
    assert bench.work.free().sum() > 5


@every_model
def test_at_the_optimum_nothing_moves(model):
    bench = bench_at(model, 40, 2)
    bench.work.solve(TOL.violation, 1 << 20, 1024)
    before = bench.collect()
    assert not leap(bench.work, TOL.violation)
    assert np.array_equal(bench.collect(), before)


def test_too_many_variables(monkeypatch):
    bench = bench_at("c_svc", 20, 1, lambda K, dual: 0.3 * (dual.lower + dual.upper))
    assert taking_part(bench.work, TOL.violation) == 20
    monkeypatch.setattr(proximal, "MOST", 19)
    assert not leap(bench.work, TOL.violation)
    assert np.array_equal(bench.collect(), bench.beta)


@every_model
def test_equal_rows_do_not_stop_it(model):
    bench = bench_at(model, 30, 2)
    work = bench.work
    for copied in range(0, 10, 2):
        work.tile[copied + 1] = work.tile[copied]
        work.tile[:, copied + 1] = work.tile[:, copied]
    work.score[work.present] = tile_of(bench) @ bench.beta.sum(axis=0)
    assert leap(work, TOL.violation)
    check_step(bench, bench.beta)


@every_model
def test_indefinite_kernels_are_left_to_pair_steps(model):
    """Where the ridge does not make up for a negative eigenvalue, nothing moves."""
    bench = bench_at(model, 30, 2)
    work = bench.work
    work.tile[work.present, work.present] -= 2.0 * np.eye(30)
    work.score[work.present] = tile_of(bench) @ bench.beta.sum(axis=0)
    if not leap(work, TOL.violation):
        assert np.array_equal(bench.collect(), bench.beta)
    check_step(bench, bench.beta)


@every_model
def test_boxes_of_any_width(model):
    """Empty, tiny and huge ones; the ridge follows their width."""
    bench = bench_at(model, 40, 4)
    work, factor = bench.work, np.resize([0.0, 1e-6, 1.0, 1e6], 40)
    for array in (work.lower, work.upper, work.beta):
        array[:, :40] *= factor
    K, before = tile_of(bench), work.beta[:, :40].copy()
    work.score[:40] = K @ before.sum(axis=0)
    leap(work, TOL.violation)
    after, lower, upper = work.beta[:, :40], work.lower[:, :40], work.upper[:, :40]
    assert ((lower <= after) & (after <= upper)).all()
    for g in range(work.groups):
        members = work.group[:, :40] == g
        change = (after - before)[members].sum()
        assert abs(change) <= TOL.feasibility * np.abs(after[members]).sum()
    gain = (work.target[:, :40] * (after - before)).sum() - 0.5 * (
        after.sum(axis=0) @ K @ after.sum(axis=0) - before.sum(axis=0) @ K @ before.sum(axis=0)
    )
    terms = abs(before.sum(axis=0) @ K @ before.sum(axis=0))
    assert gain >= -TOL.monotone * terms
