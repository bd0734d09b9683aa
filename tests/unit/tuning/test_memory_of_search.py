"""Memory of searches: what counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import widestreet as ws
from support.cross_validation import folds_of
from support.machines import data
from widestreet._src.tuning import memory_of_search as module
from widestreet._src.tuning.chain import working_memory
from widestreet._src.tuning.matrices import matrix_memory
from widestreet._src.tuning.memory_of_search import MemoryOfSearch
from widestreet._src.tuning.tasks import Fold, SearchData, Task


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_of_pair_steps_and_problems_of_a_fold_count_as_memory(n_jobs):
    X, y = data("svc")
    models = [ws.SVC(C=C, n_jobs=n_jobs) for C in (1.0, 2.0)]
    search = SearchData.of(models[0], X, y, None)
    folds = [Fold(search, *fold) for fold in folds_of(models[0], X, y)]
    tasks = [Task.of(model, fold) for model in models for fold in folds]
    rows = len(search.merged.kept)
    own = working_memory(rows) + 2 * module._BYTES_OF_VARIABLE * rows  # two values of C
    need = matrix_memory(rows) + n_jobs * own + 8 * 3 * search.rows  # weights of three folds
    for memory, fits in ((need, True), (need - 1, False)):
        settings = replace(models[0]._settings(), max_memory=memory)
        assert MemoryOfSearch(search, tasks, settings).fits(1) == fits


@pytest.mark.parametrize(
    ("kind", "folds", "near", "stores"),
    [
        ("svc", 4, True, False),
        ("svr", 5, True, False),
        ("svc", 3, True, True),  # too few folds
        ("svc", 4, False, True),
        ("nu-svc", 4, True, True),  # two sums
    ],
)
def test_matrices_of_many_rows_are_not_stored(kind, folds, near, stores, monkeypatch):
    X, y = data("svr" if kind == "svr" else "svc")
    model = {"svc": ws.SVC, "svr": ws.SVR, "nu-svc": ws.NuSVC}[kind](gamma=0.5)
    rows = SearchData.of(model, X, y, None)
    number = np.arange(len(y))
    parts = [Fold(rows, number[number % folds != k], number[:3]) for k in range(folds)]
    tasks = [Task.of(model, fold) for fold in parts]
    memory = MemoryOfSearch(rows, tasks, model._settings(), near=near)
    assert memory.stores
    monkeypatch.setattr(module, "_STORED_ROWS", len(rows.merged.kept) - 1)
    memory = MemoryOfSearch(rows, tasks, model._settings(), near=near)
    assert (memory.stores, memory.fits(1)) == (stores, True)
    assert stores or memory.limits.max_memory < model._settings().max_memory


@pytest.mark.parametrize("several", [False, True])
def test_matrices_of_many_rows_have_a_rounded_copy_if_it_fits(several, monkeypatch):
    X, y = data("svc")
    y = np.arange(len(y)) % 3 if several else y
    model = ws.SVC(n_jobs=1)
    rows = SearchData.of(model, X, y, None)
    number = np.arange(len(y))
    fold = Fold(rows, number[number % 5 != 0], number[:3])

    def memory(limit):
        settings = replace(model._settings(), max_memory=limit)
        return MemoryOfSearch(rows, [Task.of(model, fold)], settings)

    ample = model._settings().max_memory
    assert not memory(ample).keeps_rounded  # few rows
    monkeypatch.setattr(module, "TOGETHER", len(rows.merged.kept) - 1)
    assert memory(ample).keeps_rounded == (not several)
    need = ample - memory(ample).room_beside(1, rounded=True) + memory(ample).bytes_of_task
    assert memory(need).keeps_rounded == (not several)
    assert memory(need - 1).stores
    assert not memory(need - 1).keeps_rounded


@pytest.mark.parametrize("part", [0.0, 0.1, 1.0])
def test_kept_tiles_leave_the_engines_what_they_need(part, monkeypatch):
    monkeypatch.setattr(module, "_STORED_ROWS", 1)
    X, y = data("svc")
    model = ws.SVC(n_jobs=1)
    rows = SearchData.of(model, X, y, None)
    number = np.arange(len(y))
    tasks = [
        Task.of(model, Fold(rows, number[number % 5 != k], number[number % 5 == k]))
        for k in range(5)
    ]
    ample = replace(model._settings(), max_memory=1 << 28)
    needed = MemoryOfSearch(rows, tasks, ample)._least
    settings = replace(ample, max_memory=int(needed + part * ample.max_memory))
    memory = MemoryOfSearch(rows, tasks, settings)
    memory.__dict__["stores"] = False  # however little memory there is
    assert memory.limits.max_memory >= needed
    assert part == 0 or memory.limits.max_memory + memory.tiles.limit <= settings.max_memory
    assert (memory.tiles.limit > 0) == (part > 0)


def test_distances_are_shared_only_if_they_fit():
    X, y = data("svc", 600)
    X = np.tile(X, 30)  # many columns
    for memory, share in ((10**8, True), (4_000_000, False)):
        models = [ws.SVC(gamma=g, max_memory=memory) for g in (0.1, 1.0)]
        rows = SearchData.of(models[0], X, y, None)
        tasks = [Task.of(model, Fold(rows, np.arange(600), np.arange(9))) for model in models]
        memory_of = MemoryOfSearch(rows, tasks, models[0]._settings())
        assert memory_of.shares_distances == share
