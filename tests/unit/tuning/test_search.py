"""Searches over candidates and folds."""

from __future__ import annotations

import gc
import tracemalloc
import warnings
import weakref
from itertools import product

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from conftest import OF_THREE, TOL
from support.cross_validation import folds_of, one_by_one
from support.machines import data, machine
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.status import Status
from widestreet._src.training.memory_of_fit import least_memory_of
from widestreet._src.tuning import kernel_values, memory_of_search
from widestreet._src.tuning import search as module
from widestreet._src.tuning.folds import held_out_scores
from widestreet._src.tuning.kernel_values import StoredValues
from widestreet._src.tuning.memory_of_search import MemoryOfSearch
from widestreet._src.tuning.near_rows import NearRows
from widestreet._src.tuning.search import Search
from widestreet._src.tuning.tasks import Fold, SearchData, Task
from widestreet.model_selection import GridSearchCV

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


def test_problems_that_end_early_end_the_search(monkeypatch):
    """Even if the clock does not show it: an engine that ends may have kept more time back."""
    _, search, found = arranged("svc", n_jobs=1)
    solved, solve = iter(range(100)), StoredValues.solve_all

    def ending(self, steps, before):
        if next(solved) == 2:
            raise OutOfBudget(Status.TIME_LIMIT)
        return solve(self, steps, before)

    monkeypatch.setattr(StoredValues, "solve_all", ending)
    with pytest.raises(OutOfBudget):
        search.run()
    assert 0 < len(found) < len(search.tasks)


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["svm", "pipeline"])
def test_problems_that_end_early_end_a_grid_search_and_leave_no_memory(monkeypatch, steps):
    """Memory of matrices must not wait for the collector of cycles: the refit has its own."""
    X, y = data("svc")
    solved, solve, run, searches = iter(range(100)), StoredValues.solve_all, Search.run, []

    def ending(self, steps, before):
        if next(solved) >= 5:
            raise OutOfBudget(Status.TIME_LIMIT)
        return solve(self, steps, before)

    def running(self):
        searches.append(weakref.ref(self))
        run(self)

    monkeypatch.setattr(StoredValues, "solve_all", ending)
    monkeypatch.setattr(Search, "run", running)
    model = make_pipeline(*steps, ws.SVC(n_jobs=1))
    grid = {"svc__gamma": [0.1, 1.0], "svc__C": [1.0, 10.0]}
    search = GridSearchCV(model, grid, cv=3, max_time=1e4, n_jobs=1, refit=False)
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X, y)
        assert searches
        assert not any(one() for one in searches)
    finally:
        gc.enable()
    assert search.shared_
    assert search.stopped_ == "max_time"
    assert 0 < np.isnan(search.cv_results_["mean_test_score"]).sum() < 4


@pytest.mark.parametrize("stored", [True, False])
def test_memory_is_freed_with_the_search(stored, monkeypatch):
    """Not by the collector of cycles, which knows nothing of the size of matrices."""
    if not stored:
        monkeypatch.setattr(MemoryOfSearch, "fits", lambda self, matrices: False)
    _, search, _ = arranged("svc" + OF_THREE)
    search.run()
    there = weakref.ref(search)
    gc.disable()
    try:
        del search
        assert there() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_many_rows_are_solved_with_rounded_matrices(kind, n_jobs, monkeypatch):
    _, search, expected = arranged(kind, n_jobs=n_jobs)
    search.run()
    rounded, solve = [], StoredValues.solve
    for place in (memory_of_search, kernel_values):
        monkeypatch.setattr(place, "TOGETHER", 10)

    def noting(self, step, before, since=0):
        rounded.append(np.array_equal(self.rounded, self.matrix.astype(np.float32)))
        return solve(self, step, before, since)

    monkeypatch.setattr(StoredValues, "solve", noting)
    _, search, found = arranged(kind, n_jobs=n_jobs)
    search.run()
    assert len(rounded) == len(expected)
    assert all(rounded)
    for k, values in expected.items():
        C = search.tasks[k].estimator.C
        np.testing.assert_allclose(found[k], values, atol=TOL.decision * max(1.0, C))


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_tasks_are_solved_in_portions_that_fit(kind, stored, monkeypatch):
    if not stored:
        monkeypatch.setattr(MemoryOfSearch, "fits", lambda self, matrices, rounded=False: False)
    _, search, expected = arranged(kind)
    search.run()
    _, search, found = arranged(kind)
    room = property(lambda self: 3 * self.bytes_of_task)
    monkeypatch.setattr(
        MemoryOfSearch, "room_beside", lambda self, _, rounded=False: 4 * self.bytes_of_task
    )
    monkeypatch.setattr(MemoryOfSearch, "room_for_points", room)
    portions, solve = [], Search._solve_kernels

    def noting(self, batch):
        portions.append([len(members) for _, members in batch])
        solve(self, batch)

    monkeypatch.setattr(Search, "_solve_kernels", noting)
    search.run()
    # of two values of C and three folds for each kernel: two folds at a time, or one C
    assert {tuple(one) for one in portions} == ({(4,), (2,)} if stored else {(3,)})
    assert found.keys() == expected.keys()
    for k, values in expected.items():
        C = search.tasks[k].estimator.C
        np.testing.assert_allclose(found[k], values, atol=TOL.decision * max(1.0, C))


def test_measured_memory_with_as_many_folds_as_rows():
    X, y = data("svc", 400)
    model, folds = ws.SVC(n_jobs=1, max_memory="8MB"), LeaveOneOut()
    search = GridSearchCV(model, {"C": [0.1, 1.0, 10.0]}, cv=folds, refit=False)
    tracemalloc.start()
    try:
        plan = search._plan(X, y, folds, {})
        before = tracemalloc.get_traced_memory()[0]
        plan.run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - before < 1.2 * 8e6


@pytest.mark.parametrize("times", [1, 2])
def test_a_search_runs_with_the_memory_of_a_fit(times, rng):
    """Neither arrays of folds nor a matrix that is kept take what the engine needs."""
    X = rng.normal(size=(600, 30))
    y = X[:, 0] + 0.5 * rng.normal(size=600) > 0
    model = ws.SVC(n_jobs=1, max_memory=times * least_memory_of(600, 1, 30))
    grid = {"C": [0.5, 1.0, 10.0], "gamma": [0.1, 0.5]}
    search = GridSearchCV(model.fit(X, y), grid, refit=False, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_the_engine_solves_folds_whose_arrays_do_not_fit(share, monkeypatch):
    monkeypatch.setattr(MemoryOfSearch, "fits", lambda self, matrices: False)
    monkeypatch.setattr(module, "ARRAYS_SHARE", share)
    limits, solve = [], NearRows.solve

    def noting(self, report):
        limits.append(self.memory.limit)
        solve(self, report)

    monkeypatch.setattr(NearRows, "solve", noting)
    X, y = data("svc")
    model = ws.SVC(gamma=0.5, tol=TOL.twins, n_jobs=2, max_memory=10**8)
    folds = folds_of(model, X, y, 4)
    found = held_out_scores(model, X, y, folds)
    np.testing.assert_allclose(found, one_by_one(model, X, y, folds), atol=TOL.decision)
    assert (len(limits), all(limit < 10**8 for limit in limits)) == (int(share > 0), True)
