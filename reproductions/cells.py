"""Runs of a method as cells of a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from widestreet.benchmarks.records import Record

from .report import Cell
from .spread import Spread, count, digits, percent

CERTIFIED = ["certificate", "violation", "relative gap"]
NOT_IN_TEXT = "not in the text"
DASH = "-"


def spread(runs: Sequence[Record], key: str, form: Callable[[float], str] = digits) -> Cell:
    """A number of the runs that ended; a dash if there are none."""
    values = [r[key] for r in runs if r.get(key) is not None]
    return Spread(values, form) if values else DASH


def seconds(runs: Sequence[Record]) -> Cell:
    """The time, or why there is none."""
    if not runs:
        return "not run"
    late = [r for r in runs if r["status"] == "timeout"]
    if late:
        return f"> {digits(max(r['limit'] for r in late))}"
    stopped = [r for r in runs if r.get("certificate") == "time_limit"]
    if stopped:
        return f"> {digits(max(r['limit'] for r in stopped))}"
    lost = [r for r in runs if r["status"] != "answer"]
    if lost:
        return f"{lost[0]['status']}: {lost[0].get('reason', '')}".replace("|", "/")
    return spread(runs, "seconds")


def repeats(runs: Sequence[Record]) -> str:
    """How many runs the line is of."""
    return str(len([r for r in runs if r["status"] == "answer"]) or DASH)


def vectors(runs: Sequence[Record]) -> Cell:
    return spread(runs, "n_sv", count)


def accuracy(runs: Sequence[Record]) -> Cell:
    return spread(runs, "accuracy", percent)


def certified(runs: Sequence[Record]) -> list[Cell]:
    """Status, and the worst violation and gap, over all training rows."""
    ended = [r for r in runs if r["status"] == "answer"]
    if not ended:
        return [DASH] * len(CERTIFIED)
    kinds = Counter(r.get("certificate", "none of its own") for r in ended)
    words = [f"{kind} ({n})" if len(kinds) > 1 else kind for kind, n in kinds.items()]
    worst = [_tiny(max(r[key] for r in ended)) for key in ("violation", "relative_gap")]
    return [", ".join(words), *worst]


def _tiny(value: float) -> str:
    """Two digits; a model that ran out of time has no certificate."""
    return f"{value:.1e}" if math.isfinite(value) else "not computed"
