"""Ensembles of low rank: time against one SVM, memory, and growth with the number of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn import svm

import widestreet as ws
from widestreet._experiments.harness import memory
from widestreet._experiments.harness.clock import seconds
from widestreet._experiments.harness.discovery import tasks
from widestreet._experiments.harness.tables import digits, markdown
from widestreet._experiments.harness.task import Split
from widestreet.datasets import twonorm

RANKS = (200, 400, 800)
COVTYPE_ROWS, COVTYPE_RANK, COVTYPE_MEMORY = 100_000, 500, "1.5GB"
SIZES, FIXED_RANK, FIXED_STEPS = (10_000, 20_000, 40_000, 80_000, 160_000), 200, 30
PARTS_OF_A_FIT = ("approximation, s", "steps, s", "folds and certificate, s")


def loaded(name: str, rows: int) -> Split:
    """Return rows of a task, or generated ones if its data are missing."""
    task = tasks()[name]
    if task.missing() is None:
        return task.load(min(rows, task.rows))
    X, y = twonorm(2 * rows, random_state=0)
    return Split(X[:rows], y[:rows], X[rows:], y[rows:])


def error(model: Any, split: Split) -> str:
    """Test errors in percent."""
    return f"{100 * (1 - model.score(split.X_test, split.y_test)):.2f}"


def parts(model: Any, spent: float) -> list[str]:
    """Return the seconds of the kernel approximation, the steps, and folds with certificate."""
    first, last = model.trace_[0].seconds, model.trace_[-1].seconds
    return [digits(first), digits(last - first), digits(spent - last)]


def adult(threads: int) -> str:
    """The ensemble at some ranks beside one fit of scikit-learn's SVC, with the same kernel."""
    split = loaded("a9a", 32_561)
    lines, gamma = [], 0.0
    for rank, folds in [*((rank, None) for rank in RANKS), (RANKS[1], 5)]:
        model = ws.EnsembleSVC(rank=rank, folds=folds, random_state=0, n_jobs=threads)
        spent = seconds(model.fit, split.X, split.y)
        gamma = model._gamma
        cells = [digits(spent), *parts(model, spent), f"{model.n_members_[0]}", error(model, split)]
        lines.append([f"EnsembleSVC, rank {rank}, {folds or 0} folds", *cells])
    for C in (1.0, 10.0):
        theirs = svm.SVC(C=C, gamma=gamma, cache_size=2000)
        spent = seconds(theirs.fit, split.X, split.y)
        lines.append([f"scikit-learn SVC, C={C:g}", digits(spent), *"    ", error(theirs, split)])
        ours = ws.SVC(C=C, gamma=gamma, n_jobs=threads, random_state=0)
        spent = seconds(ours.fit, split.X, split.y)
        lines.append([f"widestreet SVC, C={C:g}", digits(spent), *"    ", error(ours, split)])
    return markdown(["model", "fit, s", *PARTS_OF_A_FIT, "members", "test error, %"], lines)


def covertype(threads: int) -> str:
    """A hundred thousand rows of covtype within a memory limit."""
    split = loaded("covtype-2", COVTYPE_ROWS)
    held = memory.begin()
    model = ws.EnsembleSVC(
        rank=COVTYPE_RANK, max_memory=COVTYPE_MEMORY, random_state=0, n_jobs=threads
    )
    spent = seconds(model.fit, split.X, split.y)
    most = memory.peak()
    head = ["rows", "rank", "fit, s", *PARTS_OF_A_FIT, "members"]
    head += ["held before, MB", "at most, MB", "test error, %"]
    cells = [f"{len(split.y):,}", f"{COVTYPE_RANK}", digits(spent), *parts(model, spent)]
    cells += [f"{model.n_members_[0]}", f"{held:.0f}", f"{most:.0f}", error(model, split)]
    return markdown(head, [cells])


def growing(threads: int) -> str:
    """Time at a fixed rank and number of steps for growing numbers of rows."""
    lines = []
    for rows in SIZES:
        X, y = twonorm(rows, random_state=0)
        split = Split(X, y, X[:100], y[:100])
        model = ws.EnsembleSVC(
            rank=FIXED_RANK, folds=None, max_iter=FIXED_STEPS, random_state=0, n_jobs=threads
        )
        spent = seconds(model.fit, split.X, split.y)
        first, last = model.trace_[0].seconds, model.trace_[-1].seconds
        per_row = [1e6 * first / rows, 1e6 * (last - first) / rows / model.n_iter_[0]]
        lines.append([f"{rows:,}", *parts(model, spent), *map(digits, per_row)])
    head = ["rows", "approximation, s", f"{FIXED_STEPS} steps, s", "certificate, s"]
    return markdown([*head, "approximation, us per row", "step, us per row"], lines)


PARTS: dict[str, Callable[[int], str]] = {
    "adult": adult,
    "covertype": covertype,
    "growing": growing,
}
