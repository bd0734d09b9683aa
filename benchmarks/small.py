"""Small data: fifty problems of 100 to 2,000 rows; and how long an import takes.

python -m benchmarks.small '{"solver": "widestreet", "threads": 2}'

All fits of a solver share a process, since starting one takes longer than they do; the smallest of
five times counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from .data.generated import TASKS
from .discovery import solvers
from .records import Record
from .runner import environment
from .task import Split, Task
from .verdict import verdict

SIZES = tuple(int(n) for n in np.geomspace(100, 2000, 10).round())
FITS = 5
TOL = 1e-3
MODULES = ("widestreet", "sklearn.svm")


def four_classes(rows: int) -> Split:
    """Clusters of four classes in twenty columns."""
    X, y = make_classification(rows, n_informative=5, n_classes=4, class_sep=1.5, random_state=7)
    return Split(X, y, X[:10], y[:10])


def problems() -> Iterator[tuple[Task, int]]:
    """The four generators and four clusters, ten sizes of each."""
    clusters = Task("clusters", four_classes, 0, "svc", 0.05, 1.0, "scikit-learn's default gamma")
    for task in (*TASKS, clusters):
        for rows in SIZES:
            yield task, rows


def measure(name: str, threads: int) -> Record:
    """The times and violations of a solver, problem by problem."""
    solver = solvers()[name]
    why = solver.absent()
    if why:
        return {"status": "absent", "reason": why}
    names, sizes, seconds, violations = [], [], [], []
    for task, rows in problems():
        split = task.load(rows)
        data = solver.prepare(task, split.X, split.y)
        times = []
        for _ in range(FITS + 1):  # the first one warms up
            begun = time.perf_counter()
            model = solver.fit(task, data, TOL, threads)
            times.append(time.perf_counter() - begun)
        found = verdict(task, split.X, split.y, solver.solution(model, data), threads)
        names.append(task.name)
        sizes.append(rows)
        seconds.append(min(times[1:]))
        violations.append(found["violation"])
    return {
        "status": "answer",
        "version": solver.version(),
        "problems": names,
        "sizes": sizes,
        "seconds_each": seconds,
        "violations": violations,
    }


def imports(threads: int, repeats: int) -> Record:
    """Seconds to import a module in a fresh interpreter, in turn; medians."""
    clock = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    times: dict[str, list[float]] = {module: [] for module in MODULES}
    for _ in range(repeats):
        for module in MODULES:
            command: list[Any] = [sys.executable, "-c", clock.format(module)]
            done = subprocess.run(
                command, env=environment(threads), capture_output=True, text=True, check=True
            )
            times[module].append(float(done.stdout))
    medians = {module: median(seconds) for module, seconds in times.items()}
    return {"status": "answer", "solver": "", "imports": medians, "all_imports": times}


def ratio(theirs: Record, ours: Record) -> float:
    """Median over the problems of their time divided by ours."""
    return float(np.median(np.divide(theirs["seconds_each"], ours["seconds_each"])))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked = json.loads(sys.argv[1])
    print("\n" + json.dumps(measure(asked["solver"], asked["threads"])), flush=True)
