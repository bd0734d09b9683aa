"""Corrections at the end of a homotopy: bounds, residuals and biases."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.path_problems import MODELS, ChangingProblem
from widestreet._src.engines.homotopy.enter_and_exchange import leave
from widestreet._src.engines.homotopy.path_state import FREE, LOWER, UPPER
from widestreet._src.engines.homotopy.rounding_correction import (
    central_biases,
    centre_biases,
    correct,
    snap_to_bounds,
    solve_residuals,
)

pytestmark = pytest.mark.numeric


def optimal(model: str, seed: int = 5):
    problem = ChangingProblem(model, "rbf", seed, n=30)
    problem.C, problem.nu, problem.weight = 10.0, 0.3, np.ones(problem.n)
    return problem, problem.optimum()


@pytest.mark.parametrize("model", MODELS)
def test_noise_in_the_variables_is_taken_out(model, rng):
    problem, optimum = optimal(model)
    state, free = optimum.state, optimum.free.variables
    inside = np.minimum(state.beta - state.lower, state.upper - state.beta)[free]
    state.beta[free] += 1e-3 * inside * rng.uniform(-1, 1, size=len(free))
    state.refresh()
    assert solve_residuals(state)
    problem.check(optimum)
    assert sorted(optimum.free.members) == sorted(free.tolist())


@pytest.mark.parametrize("model", MODELS)
def test_an_exact_state_stays(model):
    problem, optimum = optimal(model)
    members = sorted(optimum.free.members)
    correct(optimum.state)
    problem.check(optimum)
    assert sorted(optimum.free.members) == members


@pytest.mark.parametrize("bound_state", [LOWER, UPPER])
def test_variables_at_a_bound_but_for_rounding_are_put_on_it(bound_state):
    problem, optimum = optimal("c_svc")
    state, variable = optimum.state, optimum.free.members[0]
    bound = state.bound(bound_state)[variable]
    inward = 1.0 if bound_state == LOWER else -1.0
    state.beta[variable] = bound + inward * 1e-14 * problem.C
    state.refresh()
    snap_to_bounds(state)
    assert state.beta[variable] == bound
    assert state.bound_state[variable] == bound_state
    assert variable not in optimum.free.members
    np.testing.assert_allclose(state.score, problem.K @ state.coef, rtol=0, atol=TOL.twin * 10)


def test_biases_with_a_free_variable_stay():
    _, optimum = optimal("nu_svr")
    assert all(optimum.free.groups_present(optimum.groups))
    before = optimum.bias.copy()
    centre_biases(optimum.state)
    np.testing.assert_array_equal(optimum.bias, before)


def test_biases_without_a_free_variable_are_in_the_middle():
    """Of what the bound variables allow; with one side only, at its end; with none, zero."""
    _, optimum = optimal("one_class")
    state = optimum.state
    for variable in state.free.variables.tolist():
        leave(state, variable, UPPER)
    state.bias[:] = np.inf
    indicator = state.target - state.score
    at_lower = state.bound_state == LOWER
    least, most = indicator[at_lower].max(), indicator[~at_lower].min()
    centre_biases(state)
    assert state.bias[0] == pytest.approx((least + most) / 2, abs=TOL.exact)
    state.bound_state[:] = LOWER
    assert central_biases(state)[0] == indicator.max()
    state.upper = state.lower.copy()
    assert central_biases(state)[0] == 0.0
    assert not (state.bound_state == FREE).any()
