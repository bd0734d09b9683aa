"""Searches over candidates and folds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import widestreet as ws
from conftest import OF_THREE, TOL
from support.cross_validation import folds_of, one_by_one
from support.machines import data, machine
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.tuning import search as module
from widestreet._src.tuning.chain import working_memory
from widestreet._src.tuning.matrices import matrix_memory
from widestreet._src.tuning.search import Search
from widestreet._src.tuning.tasks import Fold, SearchData, Task

KINDS = ("svc", "svr", "svc" + OF_THREE)


def arranged(kind: str, **limits: object) -> tuple[list[object], Search, dict[int, np.ndarray]]:
    """Candidates, the search, and the values that it will report."""
    X, y = data(kind)
    options = product(("rbf", "laplacian"), (0.1, 1.0), (10.0, 0.1))
    models = [machine(kind, kernel=kernel, gamma=g, C=C, **limits) for kernel, g, C in options]
    search = SearchData.of(models[0], X, y, None)
    folds = [Fold(search, *fold) for fold in folds_of(models[0], X, y)]
    tasks = [Task.of(model, fold) for model in models for fold in folds]
    found: dict[int, np.ndarray] = {}

    def report(k, outcome, rows, scores):
        stored = outcome.held_out(rows, scores)
        values = stored.predict if kind == "svr" else stored.decision_function
        found[k] = values(outcome.task.fold.test)

    return models, Search(search, tasks, models[0]._settings(), Budget(), report), found


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_all_candidates_in_all_folds(kind, n_jobs):
    models, search, found = arranged(kind, n_jobs=n_jobs)
    search.run()
    X, y = data(kind)
    folds = folds_of(models[0], X, y)
    for m, model in enumerate(models[::3]):
        expected = one_by_one(model, X, y, folds)
        for f, (_, test) in enumerate(folds):
            np.testing.assert_allclose(
                found[9 * m + f], expected[test], atol=TOL.decision * max(1.0, model.C)
            )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_keeps_what_was_reported(n_jobs, monkeypatch):
    _, search, found = arranged("svc", n_jobs=n_jobs)
    kernels = iter(range(100))
    original = Search._values

    def values(self, kernel, number):
        if next(kernels) == 2:
            raise KeyboardInterrupt
        return original(self, kernel, number)

    monkeypatch.setattr(module.Search, "_values", values)
    with pytest.raises(KeyboardInterrupt):
        search.run()
    assert len(found) == 12  # two kernels, two values of C, three folds


def test_no_time():
    _, search, found = arranged("svc")
    search.budget.max_time = 1e-9
    with pytest.raises(OutOfBudget):
        search.run()
    assert not found


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_of_pair_steps_count_as_memory(n_jobs):
    _, search, _ = arranged("svc", n_jobs=n_jobs)
    rows = len(search.data.merged.kept)
    need = matrix_memory(rows) + n_jobs * working_memory(rows)
    for memory, fits in ((need, True), (need - 1, False)):
        limited = replace(search, settings=replace(search.settings, max_memory=memory))
        assert limited._fits(1) == fits


def test_distances_are_shared_only_if_they_fit():
    X, y = data("svc", 600)
    X = np.tile(X, 30)  # many columns
    for memory, share in ((10**8, True), (4_000_000, False)):
        models = [ws.SVC(gamma=g, max_memory=memory) for g in (0.1, 1.0)]
        rows = SearchData.of(models[0], X, y, None)
        tasks = [Task.of(model, Fold(rows, np.arange(600), np.arange(9))) for model in models]
        search = Search(rows, tasks, models[0]._settings(), Budget(), lambda *_: None)
        assert search._shares_distances == share
