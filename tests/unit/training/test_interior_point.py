"""The interior-point engine within a fit: limits, memory and patience."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from conftest import TOL
from reference import kkt
from support.fitting import in_reference_terms
from support.low_rank import EVERY, problem
from support.settings import settings
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.interior.pivoted_cholesky import NotPositive, RankTooLarge
from widestreet._src.kernels.gram import without_diagonal
from widestreet._src.status import Status
from widestreet._src.training.engine_sequence import Engines
from widestreet._src.training.interior_point import (
    _SECONDS_PER_ROW,
    _WORTH_ALL_ROWS,
    LowRank,
    Patience,
)
from widestreet._src.training.problem import Problem
from widestreet._src.training.trained import untouched
from widestreet.strategies import Interior


def low_rank(model: str = "c_svc", kernel: str = "linear", budget=None, memory: int = 1 << 30):
    gram, dual = problem(model, kernel, 0, n=100)
    return LowRank(gram, dual, budget or Budget(), 1, memory)


def test_the_point_is_feasible_and_its_free_rows_are_few():
    engine = low_rank()
    found, first = engine.solve(None, lambda record: None)
    assert found.status == Status.STALLED  # until a check accepts it
    assert len(first) <= 4
    assert kkt.feasibility(in_reference_terms(engine.dual), found.beta) <= TOL.feasibility
    assert len(found.trace) > 1


@pytest.mark.parametrize("rounds", [0, 3])
def test_a_time_limit_ends_it_with_a_feasible_point(rounds):
    budget = Budget(max_time=1e-9 if rounds == 0 else None)
    engine = low_rank("nu_svr", budget=budget)

    def observe(record):
        if record.round == rounds:
            budget.max_time = 1e-9

    found, _ = engine.solve(None, observe)
    assert found.status == Status.TIME_LIMIT
    assert len(found.trace) == rounds
    assert kkt.feasibility(in_reference_terms(engine.dual), found.beta) <= TOL.feasibility


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("rounds", [1, 3, 6])
def test_a_time_limit_keeps_the_objective_that_was_reached(model, rounds):
    budget = Budget()
    engine = low_rank(model, budget=budget)

    def observe(record):
        if record.round == rounds:
            budget.max_time = 1e-9

    found, _ = engine.solve(None, observe)
    coef = found.beta.sum(axis=0)
    score = without_diagonal(engine.gram).block() @ coef
    if engine.dual.diagonal is not None:
        score += engine.dual.diagonal * coef
    size = 1.0 + abs(float((engine.dual.target * found.beta).sum()))
    exact = engine.dual.objective(found.beta, score)
    assert found.dual_objective == pytest.approx(exact, abs=TOL.objective_rel * size)
    reached = found.trace[-1].dual_objective  # the best iterate is the last one here
    assert found.dual_objective >= reached - 1.01 * _WORTH_ALL_ROWS * abs(reached)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_time_for_the_last_point_and_its_certificate_is_reserved(kernel):
    budget, reserved = Budget(max_time=1000.0), []
    low_rank(kernel=kernel, budget=budget).solve(None, lambda _: reserved.append(budget.reserve))
    budget.keep_back(0.0)
    assert min(reserved) > budget.reserve + 100 * _SECONDS_PER_ROW


def test_rounds_before_it_are_not_lost_if_it_is_stopped(monkeypatch):
    """They take pair steps until these make slow progress."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    y = X[:, 0] + 3 * rng.normal(size=1000) > 0

    def stopped(self, most, observe):
        return untouched(Problem(self.dual), Status.TIME_LIMIT), np.empty(0, dtype=np.int64)

    monkeypatch.setattr(LowRank, "solve", stopped)
    model = ws.SVC(kernel="linear", C=1e6, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.certificate_.status == "time_limit"
    reached = max(record.dual_objective for record in model.trace_)
    assert model.certificate_.dual_objective > 0.99 * reached > 0


def test_an_interrupt_ends_it_with_a_feasible_point():
    engine = low_rank()

    def observe(record):
        if record.round == 2:
            raise KeyboardInterrupt

    found, _ = engine.solve(None, observe)
    assert found.status == Status.INTERRUPTED
    assert kkt.feasibility(in_reference_terms(engine.dual), found.beta) <= TOL.feasibility


def test_little_memory_means_a_small_rank():
    engine = low_rank(kernel="rbf", memory=300 * 100 + 2 * 8 * 4 * 25)
    with pytest.raises(RankTooLarge):
        engine.solve(None, lambda record: None)


@pytest.mark.parametrize(
    ("reason", "message"),
    [(NotPositive, "positive semidefinite"), (RankTooLarge, "exceeds 7; use strategy='auto'")],
)
def test_reasons_are_explained(reason, message):
    with pytest.raises(ValueError, match=message), low_rank().explained(7):
        raise reason


def test_patience_ends_after_its_operations(rng):
    found, _ = low_rank().solve(None, lambda record: None)
    record, seen = found.trace[0], []
    Patience(1.0, 0.0, lambda: True).watch(seen.append)(record)
    Patience(1.0, 1.0, lambda: False).watch(seen.append)(replace(record, kernel_values=10))
    with pytest.raises(OutOfBudget) as stopped:
        Patience(1.0, 1.0, lambda: True).watch(seen.append)(replace(record, kernel_values=10))
    assert stopped.value.status == Status.STALLED
    assert len(seen) == 3


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_rank_that_is_known_or_may_be_small_is_possible(kernel):
    assert low_rank(kernel=kernel).possible


def test_a_sample_tells_that_the_rank_is_too_large():
    assert not low_rank(kernel="rbf", memory=300 * 100 + 2 * 8 * 5 * 25).possible


def test_rows_elsewhere_are_refused(rng):
    engines = Engines(
        shards=None, settings=settings(), budget=Budget(), observe=lambda record: None,
        threads=1, rng=rng, check=None, room=1, sites=1,
    )  # fmt: skip
    with pytest.raises(ValueError, match="needs all rows in memory"):
        Interior().solve(engines)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_boxes_whose_products_overflow_leave_finite_coefficients(rng):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    with np.errstate(over="ignore", invalid="ignore"):  # in the rounds that follow
        model = ws.NuSVR(C=1e300, nu=0.4, strategy="interior").fit(X, y)
    assert np.isfinite(model.dual_coef_).all()
