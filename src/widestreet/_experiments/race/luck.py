"""Luck: the times of our fits over random seeds and instruction sets.

Training draws rows at random. A single time says little, if a seed decides whether a check fails by
a hair. All fits of one problem with one instruction set share a process.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np

from widestreet import _core
from widestreet._experiments.harness.discovery import tasks
from widestreet._experiments.harness.measurement import Experiment, Measurement, Method
from widestreet._experiments.harness.records import Record, answers
from widestreet._experiments.harness.tables import digits, markdown
from widestreet._experiments.harness.task import Split, Task, some
from widestreet._experiments.race.comparison import LUCK, OURS
from widestreet._experiments.race.plan import Leg

WARM_UP_ROWS = 1000
FAIR = 1.5  # times the median: a worst time above it is named
PORTABLE = "portable"


def instruction_sets() -> list[str]:
    """Return the vector instruction sets of this machine; if it has none, the portable code."""
    every = _core.instruction_sets()
    return [name for name in every if name != PORTABLE] or every


def measurement(leg: Leg, seeds: int, instruction_set: str, threads: int) -> Measurement:
    """Return the measurement of so many seeds of a leg."""
    name = f"{LUCK}-{seeds}-{instruction_set}"
    how = {"seeds": seeds, "instruction_set": instruction_set}
    return Measurement(
        problem=leg.data,
        rows=leg.rows or tasks()[leg.data].rows,
        method=Method(name, f"{seeds} seeds, {instruction_set}", parameters=how, solver=OURS),
        limit=seeds * leg.limit,
        threads=threads,
        tol=leg.tols[0],
        rest=leg.rest,
    )


def measure(task: Task, split: Split, one: Measurement) -> Record:
    """Return the times, kernel values and statuses of all seeds."""
    _core.force_instruction_set(one.method.parameters["instruction_set"])
    solver = one.method.library
    data = solver.prepare(task, split.X, split.y)
    few = solver.prepare(task, *some(split.X_test, split.y_test, WARM_UP_ROWS))
    solver.fit(task, few, one.tol, one.threads)
    found: Record = {"seconds_each": [], "kernel_values_each": [], "certificates": []}
    for seed in range(one.method.parameters["seeds"]):
        begun = time.perf_counter()
        model = solver.fit(task, data, one.tol, one.threads, random_state=seed)
        found["seconds_each"].append(time.perf_counter() - begun)
        found["kernel_values_each"].append(int(model.n_kernel_values_))
        found["certificates"].append(str(model.certificate_.status))
    return found


EXPERIMENT = Experiment(name=LUCK, problems=tasks, measure=measure)


def of(records: Iterable[Record]) -> list[Record]:
    """Return the answers about luck."""
    return [r for r in answers(records) if "seconds_each" in r and "kernel_values_each" in r]


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, the largest value, and their ratio."""
    middle, worst = float(np.median(values)), float(np.max(values))
    return middle, worst, worst / middle if middle > 0 else 1.0


def table(records: list[Record]) -> str:
    """Return one line for each problem and instruction set."""
    lines = []
    for r in records:
        middle, worst, times = spread(r["seconds_each"])
        work = spread(r["kernel_values_each"])[2]
        certified = sum(status == "optimal" for status in r["certificates"])
        how = r["method"]["parameters"]
        line = [r["problem"], f"{r['rows']:,}", how["instruction_set"], f"{how['seeds']}"]
        line += [digits(middle), digits(worst), f"{times:.2f}", f"{work:.2f}", str(certified)]
        lines.append(line)
    head = ["data", "rows", "instruction set", "seeds", "median, s", "worst, s", "worst / median"]
    return markdown([*head, "the same of kernel values", "certified"], lines)


def unfair(records: list[Record]) -> str:
    """Return a sentence that names the problems with a worst time far above the median."""
    named = [
        f"{r['problem']} ({r['method']['parameters']['instruction_set']}, {times:.1f})"
        for r in records
        if (times := spread(r["seconds_each"])[2]) > FAIR
    ]
    if not named:
        return f"No worst time exceeds {FAIR:g} times the median."
    return f"The worst time exceeds {FAIR:g} times the median: {', '.join(named)}."
