"""How many members an ensemble has: as many as are best for rows that were left out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import widestreet as ws
from conftest import OF_THREE, TOL
from support.machines import data
from support.noisy_labels import LITERAL, noisy
from widestreet._src.engines import budget as budgets
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.multiplicative import exponentiated_gradient as multiplicative
from widestreet._src.engines.multiplicative.ensemble_mean import best_size
from widestreet._src.engines.multiplicative.exponentiated_gradient import (
    MultiplicativeEngine,
    solve_together,
)
from widestreet._src.status import Status
from widestreet._src.training import ensemble

# A fit that ends with its first step that overshoots: until then nothing depends on rounding.
OPTIONS = {"gamma": 0.5, "epsilon": 0.1, "learning_rate": "literal", "prune": 0.0, "n_jobs": 1}


def fitted(X, y, weight=None, **options) -> ws.EnsembleSVC:
    return ws.EnsembleSVC(**OPTIONS | options).fit(X, y, weight)


def flipped(n: int, seed: int = 0, part: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two overlapping clouds, some labels of which are wrong."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    X = rng.normal(size=(n, 3)) + y[:, None]
    return X, np.where(rng.random(n) < part, -y, y)


# -- the mean ----------------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(1, 12))
def test_an_interrupt_between_steps_ends_all_runs(at, monkeypatch):
    """Also those that have not begun, and one that it takes unawares."""
    K, sign = noisy()
    told, calls = multiplicative._told, []

    def interrupted(run, answer):
        calls.append(None)
        if len(calls) == at:
            raise KeyboardInterrupt
        if len(calls) == at + 1:
            run.close()
        return told(run, answer)

    monkeypatch.setattr(multiplicative, "_told", interrupted)
    engines = [
        MultiplicativeEngine(
            lambda coef: coef @ K, sign, np.ones(len(sign)), LITERAL,
            length=np.sqrt(K.diagonal()), budget=Budget(), observer=lambda record: None,
        )
        for _ in range(3)
    ]  # fmt: skip
    for found in solve_together(engines):
        assert found.status == "interrupted"
        assert found.ensemble.sum() == pytest.approx(1.0)


# -- the machine -------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"intercept": True}, {"max_memory": 10_000}])
@pytest.mark.parametrize("folds", [2, 5])
def test_the_number_of_members_is_that_of_a_cross_validation(folds, more):
    X, y = flipped(80)
    model = fitted(X, y, folds=folds, **more)
    first = fitted(X, y, aggregate="parzen", **more).decision_function(X) * y
    number = np.zeros(len(y), dtype=int)
    for side in (1, -1):
        rows = np.flatnonzero(y == side)
        number[rows[np.argsort(first[rows])]] = np.arange(len(rows)) % folds
    errors = []
    for fold in range(folds):
        out = number == fold
        rest = fitted(X[~out], y[~out], folds=None, keep_stages=True, **more)
        stages = rest.staged_decision_function(X[out])
        errors.append([float((stage * y[out] <= 0).sum()) for stage in stages])
    every = fitted(X, y, folds=None, keep_stages=True, **more)
    steps = every.n_iter_[0]
    sizes = [s for s in (1, 2, 3, 4, 6, 8, 12, 16, 23, 32, 46, 64) if s < steps] + [steps]
    assert model.n_members_.tolist() == [best_size(sizes, errors)[0]]
    stage = list(every.staged_decision_function(X))[model.n_members_[0] - 1]
    np.testing.assert_allclose(model.decision_function(X), stage, rtol=0, atol=TOL.twin)
    assert model.n_iter_[0] == steps


@pytest.mark.parametrize("kind", ["svc", "svc" + OF_THREE])
def test_weights_are_repeated_rows_in_any_order(kind, rng):
    X, y = data(kind)
    weight = rng.integers(0, 4, len(y))
    twice = rng.permutation(np.repeat(np.arange(len(y)), weight))
    one, other = fitted(X, y, weight), fitted(X[twice], y[twice])
    np.testing.assert_array_equal(one.n_members_, other.n_members_)
    values = one.decision_function(X), other.decision_function(X)
    np.testing.assert_allclose(*values, rtol=0, atol=TOL.decision)


def test_noise_makes_ensembles_smaller_and_they_are_better_for_it():
    X, y = flipped(300, part=0.25)
    X_test, y_test = flipped(4000, seed=1, part=0.0)
    few, every = ws.EnsembleSVC(n_jobs=1).fit(X, y), ws.EnsembleSVC(folds=None, n_jobs=1).fit(X, y)
    assert few.n_members_[0] < every.n_members_[0] == every.n_iter_[0]
    assert few.score(X_test, y_test) > every.score(X_test, y_test)


@pytest.mark.parametrize("aggregate", ["last", "parzen"])
def test_only_ensembles_have_a_size_to_choose(aggregate):
    X, y = flipped(40)
    one, other = (fitted(X, y, aggregate=aggregate, folds=folds) for folds in (5, None))
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_a_class_of_one_row_cannot_be_left_out():
    X, y = flipped(30)
    y = np.where(np.arange(30) == 7, 1, -1)
    model = fitted(X, y)
    assert model.n_members_.tolist() == model.n_iter_.tolist()


def test_an_interrupt_while_rows_are_left_out_keeps_all_members():
    X, y = flipped(40)
    calls = []

    def kernel(A, B):
        calls.append(None)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    streamed = OPTIONS | {"max_memory": 10_000, "on_interrupt": "keep", "kernel": kernel}
    stop = 0
    ws.EnsembleSVC(**streamed, folds=None).fit(X, y)
    trained, stop = len(calls), len(calls) + 3
    calls.clear()
    model = ws.EnsembleSVC(**streamed)
    with pytest.warns(match="interrupted"):
        model.fit(X, y)
    assert len(calls) >= stop > trained
    assert model.n_members_.tolist() == model.n_iter_.tolist()
    assert model.certificate_.status == "interrupted"


# -- time that is left over ------------------------------------------------------------------------


class Clock:
    """Seconds that pass only where a test says so."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(budgets.time, "perf_counter", lambda: self.now)


def test_time_that_easy_pairs_leave_over_goes_to_hard_ones(monkeypatch):
    clock, train_pair, seen = Clock(monkeypatch), ensemble.train_pair, []
    begun = partial(Budget, _begun=0.0)

    def timed(gram, pair, plan, budget, *more):
        """The first pair takes all time it gets, the others a second."""
        hard = len(seen) in (0, 3)
        seen.append(budget.max_time)
        found = train_pair(gram, pair, plan, Budget(), *more)
        clock.now += budget.max_time if hard else 1.0
        if hard:
            solution = replace(found.trained.solution, status=Status.TIME_LIMIT)
            found = replace(found, trained=replace(found.trained, solution=solution))
        return found

    monkeypatch.setattr(ensemble, "train_pair", timed)
    monkeypatch.setattr(ensemble, "Budget", begun)
    X, y = data("classes")
    ws.EnsembleSVC(max_time=60.0, n_jobs=1).fit(X, np.arange(len(y)) % 3)
    assert len(seen) == 4
    assert seen[0] == pytest.approx(20.0, rel=TOL.twin)
    assert seen[3] == pytest.approx(60.0 - 20.0 - 2.0, rel=TOL.twin)
