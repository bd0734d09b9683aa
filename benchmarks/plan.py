"""What is run: which tasks with how many rows, at which tolerances, for how long at most."""

from __future__ import annotations

from dataclasses import dataclass

from .discovery import tasks

TOLS = (1e-3, 1e-2, 1e-4, 1e-5)  # in the order of their importance
GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000)
LONG = 1800.0  # seconds for a fit that may decide a comparison
CURVE = 600.0  # seconds for a fit that is one more point of a curve


@dataclass(frozen=True)
class Leg:
    """A task with all its solvers.

    Attributes
    ----------
    rows : int
        Training rows; 0 for those of the task.
    limit : float
        Seconds for each fit until one has reached the violation of the comparison.
    curve_limit : float
        Seconds for each fit after that.
    times_ours : float or None
        If given, the others get this many times what our own took instead.
    insist : bool
        Whether smaller tolerances follow while none has led to the violation of the comparison.
    """

    data: str
    rows: int = 0
    tols: tuple[float, ...] = TOLS
    limit: float = LONG
    curve_limit: float = CURVE
    times_ours: float | None = None
    insist: bool = True


@dataclass(frozen=True)
class Plan:
    """Legs, and whether small data and import times are measured too."""

    name: str
    legs: tuple[Leg, ...]
    small: bool = True
    seconds: float | None = None


def full() -> Plan:
    """Everything."""
    legs = [Leg(name) for name in tasks()]
    growth = [Leg("checkerboard", n, (1e-3,)) for n in GROWTH[:-1]]
    million = [
        Leg(name, GROWTH[-1], (1e-3,), times_ours=10.0) for name in ("checkerboard", "twonorm")
    ]
    return Plan("full", (*legs, *growth, *million))
