"""Homotopies that evaluate some rows only: the optimum is exact, whatever the prediction."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from conftest import TOL
from support.histories import KERNELS as MACHINE_KERNELS
from support.histories import History
from support.path_problems import KERNELS, MODELS, ChangingProblem
from widestreet._src.engines.homotopy import active_rows
from widestreet._src.engines.homotopy.active_rows import ActiveRows
from widestreet._src.engines.homotopy.kernel_columns import ALL_ROWS
from widestreet._src.engines.homotopy.parametric_optimum import Endpoint
from widestreet._src.engines.homotopy.path_state import PathCounts

pytestmark = pytest.mark.numeric


@pytest.fixture
def few_rows(monkeypatch):
    """Homotopies keep one bound variable active, however few rows there are."""
    monkeypatch.setattr(active_rows, "_KERNEL_VALUES_WORTH_RESTRICTING", 0)
    monkeypatch.setattr(active_rows, "_ACTIVE_BOUND_VARIABLES", 1)


@pytest.mark.usefixtures("chosen_data")
@pytest.mark.parametrize("again", [1, 3, 16])
@pytest.mark.parametrize("model", MODELS)
def test_the_optimum_is_exact_where_the_prediction_is_poor(model, again, few_rows, monkeypatch):
    """Variables are missed, and every change ends at the optimum nevertheless."""
    monkeypatch.setattr(active_rows, "_STEPS_BETWEEN_SCANS", again)
    missed = 0
    for seed, kernel in product(range(3), KERNELS):
        problem = ChangingProblem(model, kernel, seed)
        optimum = problem.optimum()
        for _ in problem.history(optimum, 25):
            problem.check(optimum)
            assert optimum.state.all_active
        missed += optimum.counts.missed
    assert missed > 0


def test_some_rows_lead_to_the_same_optimum_as_all_rows(few_rows):
    missed = 0
    for model in MODELS:
        problem = ChangingProblem(model, "rbf", 24, n=60)
        problem.C, problem.nu, problem.epsilon = 10.0, 0.3, 0.1
        optimum, wide = problem.optimum(), problem.optimum()
        for _ in problem.history(optimum, 60):
            wide.follow(problem.end(problem.weight), active_limit=0)
            size = max(10.0, np.abs(optimum.beta).sum())
            np.testing.assert_allclose(optimum.score, wide.score, rtol=0, atol=TOL.decision * size)
            np.testing.assert_allclose(optimum.bias, wide.bias, rtol=0, atol=TOL.decision * size)
        missed += optimum.counts.missed
        assert wide.counts.missed == 0
    assert missed > 0


def test_targets_of_missed_variables_are_restored(few_rows):
    """To the last digit, also where the endpoint leaves targets alone."""
    problem = ChangingProblem("nu_svr", "rbf", 2, n=40)
    problem.weight, problem.nu = np.ones(problem.n), 0.2
    optimum = problem.optimum()
    before = optimum.state.target.copy()
    for nu in (0.8, 0.1, 0.5):
        optimum.follow(Endpoint(total=optimum.total * (nu / problem.nu)))
        problem.nu = nu
        problem.check(optimum)
        np.testing.assert_array_equal(optimum.state.target, before)
    assert optimum.counts.missed > 0


@pytest.mark.usefixtures("chosen_data")
@pytest.mark.parametrize("what", ["target", "total"])
def test_an_observed_homotopy_keeps_all_rows_active(what, few_rows, monkeypatch):
    problem = ChangingProblem("nu_svr", "rbf", 3, n=40)
    problem.C, problem.nu, problem.weight = 10.0, 0.2, np.ones(problem.n)
    found = []
    for worth in (0, np.inf):
        monkeypatch.setattr(active_rows, "_KERNEL_VALUES_WORTH_RESTRICTING", worth)
        optimum, segments = problem.optimum(), []
        moved = optimum.state.target.copy()
        moved[8:10] += 3.0  # of one row, so that restricting would be possible
        end = Endpoint(target=moved) if what == "target" else Endpoint(total=3 * optimum.total)
        optimum.follow(end, observe=segments.append)
        found.append([(s.theta, s.length, s.free.tolist()) for s in segments])
        assert optimum.counts.missed == 0
    assert found[0] == found[1]
    assert len(found[0]) > 2


def test_all_rows_whose_data_move_are_active(few_rows):
    problem = ChangingProblem("eps_svr", "rbf", 3, n=40)
    problem.weight = np.ones(problem.n)
    optimum = problem.optimum()
    optimum.follow(problem.end(2.0 * problem.weight))
    assert optimum.counts.missed == 0


@pytest.mark.parametrize("model", MODELS)
def test_online_estimators_equal_refits(model, few_rows):
    """Rows are appended and dropped between the homotopies."""
    machine = History(model, list(MACHINE_KERNELS)[MODELS.index(model) % 3], 3)
    for _ in range(15):
        machine.step()
        machine.check()


@pytest.mark.usefixtures("chosen_data")
def test_of_many_rows_few_are_evaluated_and_hardly_any_is_missed(monkeypatch):
    monkeypatch.setattr(active_rows, "_KERNEL_VALUES_WORTH_RESTRICTING", 50_000)
    rng = np.random.default_rng(0)
    problem = ChangingProblem("eps_svr", "rbf", 0, n=600)
    X = rng.normal(size=(problem.n, 3))
    squares = (X**2).sum(axis=1)
    problem.K = np.exp(-np.maximum(0.0, squares[:, None] + squares - 2 * X @ X.T))
    problem.value = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=problem.n)
    problem.C, problem.epsilon, problem.weight = 10.0, 0.1, np.ones(problem.n)
    optimum = problem.optimum()
    assert optimum.rows * len(optimum.free) >= active_rows._KERNEL_VALUES_WORTH_RESTRICTING
    optimum.state.counts, complete, score_change = PathCounts(), [], optimum.free.score_change
    optimum.free.score_change = lambda change, rows=ALL_ROWS: (
        complete.append(isinstance(rows, slice)) or score_change(change, rows)
    )
    for row in range(5):
        problem.weight[row] = 0.0
        optimum.follow(problem.end(problem.weight))
        problem.check(optimum)
    assert optimum.counts.missed <= 2
    assert optimum.counts.steps > 50
    assert sum(complete) < optimum.counts.steps / 2


def restricted(limit: int, seed: int = 3):
    """A problem with its optimum, active rows and slopes that tell variables apart."""
    problem = ChangingProblem("c_svc", "rbf", seed, n=40)
    problem.C, problem.weight = 10.0, np.ones(problem.n)
    state = problem.optimum().state
    moving = np.zeros(problem.n, dtype=bool)
    moving[5] = True
    slope = np.random.default_rng(seed).normal(size=problem.n)
    return problem, state, ActiveRows(moving, limit), slope


@pytest.mark.parametrize("limit", [1, 4])
def test_the_bound_variables_nearest_to_a_breakpoint_are_active(limit):
    """Beside the free rows, those whose data move, and the one that changes its set."""
    _, state, rows, slope = restricted(limit)
    bound = np.setdiff1d(np.arange(state.rows), state.free.rows)
    rate = np.abs(slope[bound]) + np.abs(slope[bound]).mean()
    nearest = bound[np.argsort(np.abs(state.slack()[bound]) / rate)[:limit]]
    wanted = np.unique([*nearest, *state.free.rows, 5, 9])
    np.testing.assert_array_equal(rows.restrict(state, slope, 9), wanted)
    assert state.all_active  # it returns the rows, the caller decides


def test_with_as_few_bound_variables_as_the_limit_all_rows_stay_active():
    _, state, rows, slope = restricted(40)
    assert rows.restrict(state, slope, 9) == ALL_ROWS


def test_restored_scores_are_those_of_the_variables(rng):
    """After variables have moved while only some scores were updated."""
    problem, state, rows, slope = restricted(2)
    state.active = rows.restrict(state, slope, 9)
    state.beta += 0.1 * rng.normal(size=len(state.beta))
    score, inactive = rows.restore(state)
    np.testing.assert_allclose(score, problem.K @ state.coef, rtol=0, atol=TOL.twin * 100)
    np.testing.assert_array_equal(np.flatnonzero(~inactive), state.active)


def test_restricting_is_refused_where_many_rows_move_or_all_are_wanted():
    _, state, _, _ = restricted(2)
    size = active_rows._KERNEL_VALUES_WORTH_RESTRICTING
    assert state.rows * len(state.free) < size
    none, many = np.zeros(state.rows, dtype=bool), np.ones(state.rows, dtype=bool)
    assert not ActiveRows(none, 2).worthwhile(state)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(active_rows, "_KERNEL_VALUES_WORTH_RESTRICTING", 0)
        assert ActiveRows(none, 2).worthwhile(state)
        assert not ActiveRows(many, 2).worthwhile(state)
        assert not ActiveRows(none, 0).worthwhile(state)
