"""The rule of the comparison: the fastest run whose certified violation is small enough.

The same for everybody: 1e-3 to two digits, so that nobody fails by the rounding of a solver that
stops just there and computes in another order than the certificate.
"""

from __future__ import annotations

from collections.abc import Iterable

from .records import Record, answers

TARGET = 1e-3  # certified violation that a run must have reached to count, ...
SLACK = 1.05  # ... to two digits
FEASIBLE = 1e-6  # constraints may be broken by this part of the boxes: float32 rounding


def reached(record: Record) -> bool:
    """Whether a run counts."""
    return bool(record["violation"] <= SLACK * TARGET and record["infeasibility"] <= FEASIBLE)


def fastest(records: Iterable[Record]) -> Record | None:
    """The fastest of the runs that count, at whatever tol it was asked for; None if none does."""
    good = [r for r in answers(records) if reached(r)]
    return min(good, key=lambda r: r["seconds"], default=None)


def nearest(records: Iterable[Record]) -> Record | None:
    """Of runs that do not count, the one with the smallest violation."""
    return min(answers(records), key=lambda r: r["violation"], default=None)
