"""The state of a parametric optimum: derived quantities, rows that are appended and selected."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.path_problems import MODELS, ChangingProblem
from widestreet._src.engines.homotopy.path_state import FREE, PathState, by_row

pytestmark = pytest.mark.numeric


def optimal(model: str, seed: int = 5) -> tuple[ChangingProblem, PathState]:
    problem = ChangingProblem(model, "rbf", seed, n=30)
    problem.C, problem.nu, problem.weight = 10.0, 0.3, np.ones(problem.n)
    return problem, problem.optimum().state


@pytest.mark.parametrize("model", MODELS)
def test_derived_quantities_are_those_of_the_dual(model):
    problem, state = optimal(model)
    dual, beta = problem.dual(problem.weight), state.beta.reshape(-1, state.layers).T
    np.testing.assert_array_equal(by_row(beta), state.beta)
    np.testing.assert_allclose(state.coef, beta.sum(axis=0), rtol=0, atol=TOL.exact)
    totals = [beta[dual.group == g].sum() for g in range(dual.groups)]
    np.testing.assert_allclose(state.sum_by_group(state.beta), totals, atol=TOL.twin, rtol=0)
    h = dual.target - problem.K @ beta.sum(axis=0) - state.bias[dual.group]
    np.testing.assert_allclose(state.slack(), by_row(h), rtol=0, atol=TOL.decision)
    np.testing.assert_array_equal(
        np.flatnonzero(state.bound_state == FREE), sorted(state.free.members)
    )


def test_columns_are_those_of_the_kernel():
    """Columns of free variables are kept; those of others are computed."""
    problem, state = optimal("eps_svr")
    for variable in range(len(state.beta)):
        np.testing.assert_array_equal(state.column(variable), problem.K[variable // 2])
    problem.block = None  # any use of it fails
    for variable in state.free.members:
        np.testing.assert_array_equal(state.column(variable), problem.K[variable // 2])


def test_free_variables_move_inside_their_boxes(rng):
    problem, state = optimal("c_svc")
    change, turn = rng.normal(size=len(state.free)), rng.normal(size=state.groups)
    beta, bias, score = state.beta.copy(), state.bias.copy(), state.score.copy()
    state.move_free(1e-3, change, turn)
    free = state.free.variables
    wanted = np.clip(beta[free] + 1e-3 * change, state.lower[free], state.upper[free])
    np.testing.assert_array_equal(state.beta[free], wanted)
    np.testing.assert_array_equal(state.bias, bias + 1e-3 * turn)
    np.testing.assert_allclose(
        state.score, score + 1e-3 * problem.K[:, free] @ change, rtol=0, atol=TOL.twin
    )


def test_scores_are_computed_from_beta():
    problem, state = optimal("nu_svr")
    state.score[:] = np.nan
    state.steps_since_refresh = 7
    state.refresh()
    np.testing.assert_allclose(state.score, problem.K @ state.coef, rtol=0, atol=TOL.twin)
    assert state.steps_since_refresh == 0


@pytest.mark.parametrize("model", MODELS)
def test_a_copy_shares_nothing_that_changes(model):
    _, state = optimal(model)
    kept = {
        name: value.copy() for name, value in vars(state).items() if isinstance(value, np.ndarray)
    }
    other = state.copy()
    for name in kept:
        getattr(other, name)[...] = 1
    other.free.remove(0)
    other.counts.steps += 1
    for name, value in kept.items():
        np.testing.assert_array_equal(getattr(state, name), value)
    assert len(state.free) == len(other.free) + 1
    assert state.counts.steps == other.counts.steps - 1


def test_the_tolerance_of_bounds_does_not_grow_with_boxes_that_are_nearly_empty():
    problem, state = optimal("c_svc")
    before = state.bound_tolerance(np.arange(problem.n))
    assert (before <= 1e-11 * problem.C).all()
    state.upper *= 1e12
    state.lower *= 1e12
    now = state.bound_tolerance(np.arange(problem.n))
    assert (now <= 1e-11 * np.abs(state.beta).max()).all()


def test_appended_rows_have_their_scores_and_selected_rows_keep_theirs():
    problem, state = optimal("eps_svr")
    K = problem.K.copy()
    needed = set(state.free.rows.tolist()) | set(np.flatnonzero(state.coef).tolist())
    order = np.array([v for v in range(problem.n) if v in needed or v % 3])
    score, beta = state.score.copy(), state.beta.reshape(-1, 2)
    free = {(int(order.tolist().index(v // 2)), v % 2) for v in state.free.members}
    state.select_rows(order)
    np.testing.assert_array_equal(state.score, score[order])
    np.testing.assert_array_equal(state.beta.reshape(-1, 2), beta[order])
    assert {(v // 2, v % 2) for v in state.free.members} == free
    problem.K = K[np.ix_([*order, 0, 3], [*order, 0, 3])]  # two more rows
    group = np.array([[0, 0], [0, 0]], dtype=np.uint8)
    state.append_rows(np.array([[0.5, 1.0], [-0.5, 2.0]]), group, np.diag(problem.K)[-2:].copy())
    assert state.rows == len(order) + 2
    np.testing.assert_array_equal(state.target[-4:], [0.5, -0.5, 1.0, 2.0])
    np.testing.assert_allclose(state.score, problem.K @ state.coef, rtol=0, atol=TOL.decision)
    for variable in state.free.members:
        np.testing.assert_array_equal(state.column(variable), problem.K[variable // 2])
