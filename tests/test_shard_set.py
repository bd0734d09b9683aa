"""Several shards are one problem: the engine must not notice how the rows are divided."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from fitting import build_dual, solve_dual
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.dual import select
from widestreet._src.rows import as_rows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.runner import LocalRunner
from widestreet._src.shards.shard import SurveyOrder
from widestreet._src.shards.shard_set import ShardSet
from widestreet.datasets import friedman, twonorm
from widestreet.strategies import Auto

STRATEGY = Auto(start_size=64, max_size=400)


def problem(model, n=1500):
    X, y = friedman(n, random_state=0) if model.endswith("svr") else twonorm(n, random_state=0)
    return X, build_dual(model, np.float64(y), C=1.0, epsilon=1.0, nu=0.3)


@pytest.mark.parametrize("model", ["c_svc", "eps_svr", "nu_svc", "nu_svr", "one_class"])
@pytest.mark.parametrize("workers", [1, 3])
def test_same_optimum_however_the_rows_are_divided(model, workers):
    X, dual = problem(model)
    tol = 1e-5
    whole = solve_dual(X, dual, STRATEGY, gamma=0.05, tol=tol)
    parts = solve_dual(X, dual, STRATEGY, gamma=0.05, tol=tol, parts=3, runner=LocalRunner(workers))
    assert parts.found.violation <= tol
    assert parts.found.infeasibility <= TOL.feasibility
    assert np.isclose(parts.found.dual, whole.found.dual, rtol=TOL.strategies_rel, atol=0.0)


def test_same_seed_same_result_with_several_shards():
    X, dual = problem("c_svc")
    one, two = (
        solve_dual(X, dual, STRATEGY, gamma=0.05, tol=1e-3, parts=4, seed=5) for _ in range(2)
    )
    assert np.array_equal(one.solution.beta, two.solution.beta)


def fleet_and_model(parts, rng):
    """A fleet of 90 rows out of 100, and a model of some of them."""
    X, y = twonorm(100, random_state=1)
    kept = np.sort(rng.choice(100, 90, replace=False))
    dual = build_dual("c_svc", np.float64(y[kept]), C=1.0)
    fleet = ShardSet.of(Gram(RBF(0.1), as_rows(X)).select(kept), dual, parts=parts)
    fleet.use_double()
    beta = np.where(rng.random(dual.target.shape) < 0.3, dual.upper + dual.lower, 0.0)
    fleet.start_from(beta)
    ids = np.flatnonzero(beta[0])
    model = Expansion(1)
    model.publish(ids, beta[0, ids], np.zeros(1), np.inf)
    return fleet, model, dual, beta


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_rows_find_their_shard_and_come_back_in_order(parts, rng):
    fleet, model, dual, beta = fleet_and_model(parts, rng)
    ids = rng.permutation(90)[:40]
    rows = fleet.take(ids, model)
    assert np.array_equal(rows.ids, ids)
    assert np.array_equal(rows.beta, beta[:, ids])
    wanted = select(dual, ids)
    for name in ("target", "lower", "upper", "group"):
        assert np.array_equal(getattr(rows.variables, name), getattr(wanted, name))
    exact = fleet.gram.scan(ids, model.ids, model.coef)
    assert np.array_equal(rows.score, exact)
    fleet.release(ids, 0.5 * rows.beta, rows.score, model.version)
    changed = beta.copy()
    changed[:, ids] *= 0.5
    assert np.array_equal(fleet.collect(), changed)


@pytest.mark.parametrize("parts", [2, 7])
def test_a_survey_of_every_row_finds_what_one_shard_finds(parts, rng):
    state = rng.bit_generator.state
    order = SurveyOrder(90, 0.01, whole=True)
    found = []
    for count in (1, parts):
        rng.bit_generator.state = state
        fleet, model, _, _ = fleet_and_model(count, rng)
        found.append(fleet.survey(model, order, np.random.default_rng(0)))
    one, many = found
    assert np.array_equal(np.sort(one.ids), np.sort(many.ids))
    assert np.array_equal(one.highest, many.highest)
    assert np.array_equal(one.lowest, many.lowest)
    assert (one.scanned, one.skipped, one.complete) == (many.scanned, many.skipped, many.complete)
    assert np.isclose(one.loss, many.loss, rtol=TOL.twin)


def test_a_runner_keeps_order():
    for workers in (1, 4):
        assert LocalRunner(workers).map(lambda k: k * k, range(20)) == [k * k for k in range(20)]
