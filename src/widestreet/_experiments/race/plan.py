"""The plans: tasks with their numbers of rows, tolerances and time limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from widestreet._experiments.harness.discovery import tasks

TOLS = (1e-3, 1e-2, 1e-4, 1e-5)  # in the order of their importance
GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000)
LONG = 1800.0  # seconds for a fit that may decide a comparison
CURVE = 600.0  # seconds for a fit that is one more point of a curve
QUICK_SECONDS = 240.0  # after which nothing new is begun


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
    repeats : int
        How often a short fit is timed.
    rest : float
        Seconds for all but the fit: loading, predicting, certifying.
    """

    data: str
    rows: int = 0
    tols: tuple[float, ...] = TOLS
    limit: float = LONG
    curve_limit: float = CURVE
    times_ours: float | None = None
    insist: bool = True
    repeats: int = 3
    rest: float = 3600.0


@dataclass(frozen=True)
class Plan:
    """Legs in the order in which they are run.

    Attributes
    ----------
    legs : tuple of Leg
        A measurement that an earlier leg made already costs nothing.
    small : tuple of str or None
        Solvers that are measured on small data, too; None for all.
    imports : int
        How often imports are timed.
    seeds : int
        Random seeds of our own fits of each problem; 0 for none.
    seconds : float or None
        After which nothing new is begun.
    """

    name: str
    legs: tuple[Leg, ...]
    small: tuple[str, ...] | None = None
    imports: int = 7
    seeds: int = 20
    seconds: float | None = None


def full() -> Plan:
    """Return the plan of the full race."""
    legs = [Leg(name) for name in tasks()]
    growth = [Leg("checkerboard", n, (1e-3,)) for n in GROWTH[:-1]]
    million = [
        Leg(name, GROWTH[-1], (1e-3,), times_ours=10.0) for name in ("checkerboard", "twonorm")
    ]
    return Plan("full", (*legs, *growth, *million))


def quick() -> Plan:
    """Return a plan of five minutes: generators with fewer rows, and small real sets.

    First the comparison of all of them, then growth, then the other points of the curves.
    """
    names = ["checkerboard", "twonorm", "ringnorm", "friedman"]
    real = ["cpusmall", "mnist-3-8", "a9a"]
    sizes = dict.fromkeys(names, 20_000)
    sizes |= {name: 0 for name in real if tasks()[name].missing() is None}
    short = partial(Leg, limit=20.0, curve_limit=20.0, repeats=1, rest=20.0)
    first = [short(name, n, (1e-3,)) for name, n in sizes.items()]
    growth = [short("checkerboard", n, (1e-3,)) for n in (5_000, 10_000, 40_000)]
    curves = [short(name, n, (1e-3, 1e-5)) for name, n in sizes.items()]
    legs = (*first[: len(names)], *growth, *first[len(names) :], *curves)
    return Plan("quick", legs, ("widestreet", "scikit-learn"), 3, 0, QUICK_SECONDS)
