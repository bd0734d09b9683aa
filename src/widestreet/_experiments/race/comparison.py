"""The comparison: which runs count, ratios of their times, and growth with the number of rows.

A solver's fastest run counts whose certified violation is small enough: 1e-3 to two digits, so that
no solver fails by rounding that stops just there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from widestreet._experiments.harness.records import Record, answers

OURS, SMALL = "widestreet", "small"  # a solver, and the problem that small.py measures
LUCK = "luck"  # the name of what luck.py measures
LEAST_SIZES = 3  # numbers of rows from which an exponent is fitted
TARGET = 1e-3  # certified violation that a run must have reached to count, ...
SLACK = 1.05  # ... to two digits
FEASIBLE = 1e-6  # constraints may be broken by this part of the boxes: float32 rounding


def reached(record: Record) -> bool:
    """Return whether a run counts."""
    return bool(record["violation"] <= SLACK * TARGET and record["infeasibility"] <= FEASIBLE)


def fastest(records: Iterable[Record]) -> Record | None:
    """Return the fastest of the runs that count, at any tolerance; None if none does."""
    good = [r for r in answers(records) if reached(r)]
    return min(good, key=lambda r: r["seconds"], default=None)


def nearest(records: Iterable[Record]) -> Record | None:
    """Return the run with the smallest violation."""
    return min(answers(records), key=lambda r: r["violation"], default=None)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a solver on a task.

    Attributes
    ----------
    best : dict or None
        Its fastest run that counts.
    closest : dict or None
        If there is none, the run with the smallest violation.
    limit : float
        If it gave no answer at all, the seconds it had.
    reason : str
        If it did not take part or failed, why.
    """

    best: Record | None = None
    closest: Record | None = None
    limit: float = 0.0
    reason: str = ""


def fits(records: Iterable[Record]) -> list[Record]:
    """Return the records of the legs, without small data, luck and imports."""
    legs = [r for r in records if r.get("problem") not in (None, SMALL)]
    return [r for r in legs if not r["method"]["name"].startswith(LUCK)]


def lines(records: Iterable[Record]) -> list[tuple[str, int]]:
    """Return the tasks and numbers of rows that have records, in growing order."""
    found: dict[str, set[int]] = {}
    for r in fits(records):
        found.setdefault(r["problem"], set()).add(r["rows"])
    return [(data, n) for data, sizes in found.items() for n in sorted(sizes)]


def of(records: Iterable[Record], data: str, rows: int, solver: str) -> list[Record]:
    """Return the runs of a solver on a task, the largest tol first."""
    asked = (data, rows, solver)
    same = [r for r in fits(records) if (r["problem"], r["rows"], r["method"]["name"]) == asked]
    return sorted(same, key=lambda r: -r["tol"])


def judge(runs: list[Record]) -> Outcome:
    """Return the outcome of all runs of a solver on a task."""
    best = fastest(runs)
    if best:
        return Outcome(best=best)
    late = [r["limit"] for r in runs if r["status"] == "timeout"]
    reasons = [r.get("reason", "") for r in runs if r["status"] in ("failed", "absent")]
    return Outcome(
        closest=nearest(runs), limit=max(late, default=0.0), reason=(reasons or [""])[-1]
    )


def ratio(theirs: Outcome, ours: Outcome) -> float | None:
    """Return their time divided by ours, if both count."""
    if theirs.best is None or ours.best is None:
        return None
    return float(theirs.best["seconds"] / ours.best["seconds"])


def at_least(theirs: Outcome, ours: Outcome) -> float | None:
    """Return their time limit divided by our time, if they gave no answer."""
    if ours.best is None or not theirs.limit or theirs.closest is not None:
        return None
    return float(theirs.limit / ours.best["seconds"])


def growth(records: Iterable[Record], data: str, solver: str, what: str) -> list[tuple[int, float]]:
    """Return seconds or MB of the runs that count, by rows."""
    records = list(records)
    found = []
    for name, rows in lines(records):
        if name == data:
            best = fastest(of(records, data, rows, solver))
            if best is not None:
                found.append((rows, float(best[what])))
    return found


def exponent(points: list[tuple[int, float]]) -> float | None:
    """Return the slope of log time over log rows by least squares; None for too few sizes."""
    if len(points) < LEAST_SIZES:
        return None
    n, seconds = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(n, seconds, 1)[0])


def growing(records: Iterable[Record]) -> list[str]:
    """Return the tasks with enough numbers of rows for an exponent."""
    names = [data for data, _ in lines(records)]
    return [name for name in dict.fromkeys(names) if names.count(name) >= LEAST_SIZES]
