"""Starting points from the solution of a sample of the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from conftest import TOL
from reference import kkt
from support.fitting import build_dual, in_reference_terms
from support.settings import settings
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.formulations import nu_svc
from widestreet._src.rows import as_rows
from widestreet._src.status import Status
from widestreet._src.training import sampled_start
from widestreet._src.training.engine_sequence import solve_sample, train
from widestreet._src.training.problem import Problem
from widestreet._src.training.sampled_start import is_useful
from widestreet.datasets import twonorm
from widestreet.strategies import SMO, Auto

MODELS = ("nu_svc", "one_class")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Let 400 rows be many."""
    monkeypatch.setattr(sampled_start, "_LEAST_ROWS", 400)
    monkeypatch.setattr(sampled_start, "_NEAREST_ROWS", 40)


def problem(model, n=400):
    X, y = twonorm(n, random_state=0)
    return Gram(RBF(0.05), as_rows(X)), Problem(build_dual(model, np.float64(y), C=1.0, nu=0.4))


def solve(sample, goal):
    return solve_sample(sample, settings(goal=goal), 1)


def from_sample(gram, given, solve=solve, budget=None, seed=0):
    budget, rng = budget or Budget(), np.random.default_rng(seed)
    poll = Poll(budget.look_at_clock)
    found = sampled_start.sampled_start(gram, given, solve, budget, rng, poll)
    assert poll.kernel_values >= 400 * 50 * 0.4 + 50**2 / 2  # all rows and the sample
    return found


def started(model, **given):
    gram, begun = problem(model)
    return gram, from_sample(gram, begun, **given)


@pytest.mark.parametrize("model", MODELS)
def test_the_point_is_feasible_and_better_than_boxes_filled_in_order(model):
    gram, found = started(model)
    assert kkt.feasibility(in_reference_terms(found.dual), found.start) <= TOL.feasibility
    every = np.arange(400)
    objectives = [
        found.dual.objective(beta, gram.scan(every, every, beta.sum(axis=0)))
        for beta in (found.start, found.dual.feasible_point())
    ]
    assert objectives[0] > 0.9 * objectives[1] > objectives[1]  # both are negative
    assert len(np.unique(found.first)) == len(found.first) == 40


def optimum(given):
    X, _ = twonorm(400, random_state=0)
    rounds = settings(strategy=Auto(start_size=64))
    return train(RBF(0.05), as_rows(X), given, rounds, lambda record: None)


@pytest.mark.parametrize("model", MODELS)
def test_the_first_rows_are_those_most_likely_to_change(model):
    _, found = started(model)
    changed = (optimum(problem(model)[1]).solution.beta != found.start).any(axis=0)
    others = np.delete(changed, found.first)
    assert changed[found.first].mean() > 2.0 * others.mean()


@pytest.mark.parametrize("model", MODELS)
def test_the_optimum_is_that_of_any_other_start(model):
    _, given = problem(model)
    starts = given, replace(given, start=given.dual.feasible_point())
    one, other = (optimum(start).certificate for start in starts)
    assert one.status == other.status == "optimal"
    assert one.dual_objective == pytest.approx(other.dual_objective, rel=TOL.objective_rel)


def test_where_a_sample_is_useful():
    for model, useful in {
        "c_svc": False,
        "nu_svc": True,
        "eps_svr": False,
        "nu_svr": False,
        "one_class": True,
    }.items():
        assert is_useful(problem(model)[1], Budget()) == useful
    given = problem("one_class")[1]
    assert not is_useful(replace(given, start=given.dual.feasible_point()), Budget())
    assert not is_useful(given, Budget(max_steps=10))
    assert not is_useful(problem("one_class", 398)[1], Budget())


def test_sums_that_do_not_fit_into_the_sample():
    """The largest nu fills the boxes of all rows of a class, of which a sample may have fewer."""
    X, _ = twonorm(400, random_state=0)
    y = np.where(np.arange(400) % 8 == 0, 1.0, -1.0)
    given = Problem(nu_svc(y, 0.25))
    gram = Gram(RBF(0.05), as_rows(X))
    for seed in range(5):
        found = from_sample(gram, given, seed=seed)
        assert kkt.feasibility(in_reference_terms(given.dual), found.start) <= TOL.feasibility


def test_an_interrupt_or_a_limit_ends_it():
    def interrupted(sample, goal):
        return replace(solve(sample, goal), status=Status.INTERRUPTED)

    with pytest.raises(KeyboardInterrupt):
        started("one_class", solve=interrupted)
    with pytest.raises(OutOfBudget):
        started("one_class", budget=Budget(max_time=1e-9))


def test_a_fit_without_time_has_a_feasible_model():
    X, _ = twonorm(2000, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model = ws.OneClassSVM(nu=0.4, max_time=1e-9, random_state=0).fit(X)
    assert model.certificate_.status == "time_limit"
    assert model.dual_coef_.sum() == pytest.approx(0.4 * 2000, rel=TOL.feasibility)


def test_other_strategies_start_as_published(monkeypatch):
    def never(*arguments):
        raise AssertionError

    monkeypatch.setattr(sampled_start, "sampled_start", never)
    X, _ = twonorm(400, random_state=0)
    given = settings(strategy=SMO())
    found = train(RBF(0.05), as_rows(X), problem("one_class")[1], given, lambda record: None)
    assert found.certificate.status == "optimal"
