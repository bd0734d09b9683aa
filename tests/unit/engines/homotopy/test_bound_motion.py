"""Rates of data, and the motion of variables at moving bounds."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.path_problems import MODELS, ChangingProblem
from widestreet._src.engines.homotopy.bound_motion import BoundMotion, DataRates, Endpoint
from widestreet._src.engines.homotopy.enter_and_exchange import leave
from widestreet._src.engines.homotopy.path_state import LOWER, UPPER

pytestmark = pytest.mark.numeric


def moving(model: str):
    """An optimum, and the rates at which every third row doubles its box."""
    problem = ChangingProblem(model, "rbf", 5, n=30)
    problem.C, problem.nu, problem.weight = 10.0, 0.3, np.ones(problem.n)
    state = problem.optimum().state
    weight = np.where(np.arange(problem.n) % 3, 1.0, 2.0)
    return problem, state, DataRates.between(state, problem.end(weight))


def check(motion: BoundMotion, rates: DataRates, problem, state) -> None:
    """Compare rates with those of the definition."""
    bound = {LOWER: rates.lower, UPPER: rates.upper}
    beta = [bound[b][v] if b in bound else 0.0 for v, b in enumerate(state.bound_state)]
    coef = np.reshape(beta, (-1, state.layers)).sum(axis=1)
    np.testing.assert_array_equal(motion.beta, beta)
    np.testing.assert_allclose(motion.score, problem.K @ coef, rtol=0, atol=TOL.twin * 100)
    sums = np.bincount(state.group, beta, state.groups)
    np.testing.assert_allclose(motion.total, sums, rtol=0, atol=TOL.twin * 100)


@pytest.mark.parametrize("model", MODELS)
def test_rates_lead_to_the_endpoint(model):
    problem, state, rates = moving(model)
    dual = problem.dual(np.where(np.arange(problem.n) % 3, 1.0, 2.0))
    end = Endpoint.of(dual)
    for name in ("target", "lower", "upper", "total"):
        there = getattr(state, name) + getattr(rates, name)
        np.testing.assert_allclose(there, getattr(end, name), rtol=0, atol=TOL.twin)


def test_rounding_of_totals_is_no_motion():
    """A total that moves by rounding of the sum of its variables stands still."""
    _, state, _ = moving("nu_svr")
    for change, stands in ((1e-15, True), (1e-9, False)):
        total = state.total + change * np.abs(state.beta).sum()
        rates = DataRates.between(state, Endpoint(total=total))
        assert (rates.total == 0).all() == stands


def test_data_without_an_endpoint_stay():
    _, state, _ = moving("eps_svr")
    target = state.target.copy()
    target[4] += 1.0
    rates = DataRates.between(state, Endpoint(target=target))
    assert not any(values.any() for values in (rates.lower, rates.upper, rates.total))
    assert np.flatnonzero(rates.moving_rows(state.layers)).tolist() == [2]


@pytest.mark.parametrize("model", MODELS)
def test_the_motion_follows_every_change_of_a_bound_state(model):
    problem, state, rates = moving(model)
    motion = BoundMotion(rates, state)
    check(motion, rates, problem, state)
    for at, variable in enumerate(state.free.variables.tolist()):
        column = state.column(variable) if at % 2 else None
        leave(state, variable, UPPER if at % 3 else LOWER)
        motion.update(state, variable, column)
        check(motion, rates, problem, state)
    motion.score += 1.0
    motion.recompute(state)
    check(motion, rates, problem, state)
