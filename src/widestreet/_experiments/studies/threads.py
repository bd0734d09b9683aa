"""Times and phases of fits by the number of threads: 1, 2, 4 and so on, up to --threads."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import widestreet as ws
from widestreet._experiments.data.generated import TASKS
from widestreet._experiments.harness.tables import DASH, digits, markdown
from widestreet._experiments.harness.task import Task

PHASES = ("exchange", "solve", "survey", "check")
SMALL = 2000  # rows of a fit before the first: threads start, and memory is touched
_SLOWER = 2.2  # times the seconds of a fit: forecast for half as many threads


@dataclass(frozen=True)
class Ladder:
    """Fits of one problem with fewer and fewer threads.

    Attributes
    ----------
    name : str
        Name of the task.
    rows : int
    seconds : float
        Limit of all fits together. A fit that is forecast to exceed it is left out; the first one
        gets it as its `max_time`.
    """

    name: str
    rows: int
    seconds: float


LADDERS = (
    Ladder("checkerboard", 1_000_000, 40.0),
    Ladder("twonorm", 300_000, 45.0),
    Ladder("friedman", 100_000, 60.0),
    Ladder("twonorm", 1_000_000, 210.0),
    Ladder("friedman", 1_000_000, 90.0),
)


def model_of(task: Task, threads: int, max_time: float | None = None) -> Any:
    """Return the estimator of a task."""
    shared: dict[str, Any] = {
        "C": task.C,
        "gamma": task.gamma,
        "n_jobs": threads,
        "random_state": 0,
    }
    if task.kind == "svr":
        return ws.SVR(epsilon=task.epsilon, max_time=max_time, **shared)
    return ws.SVC(max_time=max_time, **shared)


def steps(threads: int) -> list[int]:
    """Return the numbers of threads, the largest first."""
    return [2**k for k in reversed(range(threads.bit_length())) if 2**k <= threads]


def climbed(ladder: Ladder, threads: int) -> list[list[str]]:
    """Return the lines of one problem, from one thread on."""
    task = next(task for task in TASKS if task.name == ladder.name)
    split = task.load(ladder.rows)
    X, y = split.X.astype(np.float32), split.y
    model_of(task, threads).fit(X[:SMALL], y[:SMALL])
    left = ladder.seconds
    measured: list[tuple[int, float, Any]] = []
    for count in steps(threads):
        if measured and _SLOWER * measured[-1][1] > left:
            break
        model = model_of(task, count, None if measured else ladder.seconds)
        begun = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - begun
        left -= seconds
        measured.append((count, seconds, model))
    fewest, longest, _ = measured[-1]
    lines = []
    for count, seconds, model in reversed(measured):
        phases: Counter[str] = Counter()
        for record in model.trace_:
            phases.update(record.timings)
        rest = seconds - sum(phases[phase] for phase in PHASES)
        ratio = DASH if count == fewest else f"{longest / seconds:.2f} ({fewest})"
        cells = [digits(seconds), ratio, *(digits(phases[phase]) for phase in PHASES), digits(rest)]
        values = f"{model.trace_[-1].kernel_values:.2e}"
        name = f"{ladder.name} {ladder.rows:,}"
        lines.append([name, f"{count}", *cells, values, str(model.certificate_.status)])
    return lines


def fits(threads: int) -> str:
    """Return a table of seconds, speed-ups over the fewest threads, and seconds of the phases."""
    head = ["problem", "threads", "seconds", "times faster (than threads)", *PHASES, "rest"]
    lines = [line for ladder in LADDERS for line in climbed(ladder, threads)]
    return markdown([*head, "kernel values", "status"], lines)


PARTS: dict[str, Callable[[int], str]] = {"fits": fits}
