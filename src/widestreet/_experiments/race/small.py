"""Small data: fifty problems of 100 to 2,000 rows; and the time of an import.

All fits of a solver share a process, since starting one takes longer than they do; the smallest of
five times counts.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from widestreet._experiments.data.generated import TASKS
from widestreet._experiments.harness.measurement import Experiment, Measurement
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.task import Split, Task
from widestreet._experiments.harness.verdict import verdict
from widestreet._experiments.race import comparison
from widestreet._experiments.race.schedule import method
from widestreet._src.environment import with_threads

SIZES = tuple(int(n) for n in np.geomspace(100, 2000, 10).round())
FITS = 5
LIMIT = 600.0  # seconds for all fits of a solver
MODULES = ("widestreet", "sklearn.svm")


def four_classes(rows: int) -> Split:
    """Return clusters of four classes in twenty columns."""
    X, y = make_classification(rows, n_informative=5, n_classes=4, class_sep=1.5, random_state=7)
    return Split(X, y, X[:10], y[:10])


CLUSTERS = Task("clusters", four_classes, 0, "svc", 0.05, 1.0, "scikit-learn's default gamma")


def problems() -> Iterator[tuple[Task, int]]:
    """Yield the four generators and four clusters, ten sizes of each."""
    for task in (*TASKS, CLUSTERS):
        for rows in SIZES:
            yield task, rows


def measure(_: Task, rows: Split, one: Measurement) -> Record:
    """Return the times and violations of a solver, problem by problem."""
    solver = one.method.library
    found: Record = {"problems": [], "sizes": [], "seconds_each": [], "violations": []}
    for task, size in problems():
        split = task.load(size)
        data = solver.prepare(task, split.X, split.y)
        times = []
        for _fit in range(FITS + 1):  # the first one warms up
            begun = time.perf_counter()
            model = solver.fit(task, data, one.tol, one.threads)
            times.append(time.perf_counter() - begun)
        checked = verdict(task, split.X, split.y, solver.solution(model, data), one.threads)
        found["problems"].append(task.name)
        found["sizes"].append(size)
        found["seconds_each"].append(min(times[1:]))
        found["violations"].append(checked["violation"])
    return found


NAME = comparison.SMALL
EXPERIMENT = Experiment(name=NAME, problems=lambda: {NAME: CLUSTERS}, measure=measure)


def measurement(name: str, threads: int) -> Measurement:
    """Return the measurement of a solver on all problems."""
    return Measurement(NAME, min(SIZES), method(name), limit=LIMIT, threads=threads)


def imports(threads: int, repeats: int) -> Record:
    """Return the seconds to import a module in a fresh interpreter, in turn; medians."""
    clock = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    times: dict[str, list[float]] = {module: [] for module in MODULES}
    for _ in range(repeats):
        for module in MODULES:
            command: list[Any] = [sys.executable, "-c", clock.format(module)]
            done = subprocess.run(
                command, env=with_threads(threads), capture_output=True, text=True, check=True
            )
            times[module].append(float(done.stdout))
    medians = {module: median(seconds) for module, seconds in times.items()}
    return {"status": "answer", "threads": threads, "imports": medians, "all_imports": times}


def ratio(theirs: Record, ours: Record) -> float:
    """Return the median over the problems of their time divided by ours."""
    return float(np.median(np.divide(theirs["seconds_each"], ours["seconds_each"])))
