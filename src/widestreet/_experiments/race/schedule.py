"""The tolerances at which the solvers of a leg are run.

They are tried in the order in which they matter, that of the comparison first. If a solver reaches
the violation of the comparison at none of them, smaller ones follow as long as they help. A
tolerance below one that took too long is not tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from widestreet._experiments.harness.discovery import solvers, tasks
from widestreet._experiments.harness.measurement import Experiment, Measurement, Method
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.runner import Runner
from widestreet._experiments.race.comparison import OURS, TARGET, fastest
from widestreet._experiments.race.plan import Leg

SMALLEST_TOL = 1e-7
RACE = Experiment(name="race", problems=tasks)


def method(name: str) -> Method:
    """Return a solver as a method."""
    return Method(name, solvers()[name].title, solver=name)


@dataclass(frozen=True)
class Schedule:
    """Runs legs through a runner."""

    runner: Runner
    threads: int

    def run(self, legs: Iterable[Leg], names: Iterable[str]) -> list[Record]:
        """Run all legs with all solvers and return their records."""
        names = list(names)
        return [r for leg in legs for name in names for r in self.solve(leg, name)]

    def solve(self, leg: Leg, name: str) -> list[Record]:
        """Run one solver at the tolerances of a leg."""
        found: list[Record] = []
        for tol in _tolerances(leg, name, found):
            limit = self.limit(leg, name, found)
            if any(tol < r["tol"] and _seconds(r) > limit for r in found):
                continue
            record = self.runner.record(
                Measurement(
                    problem=leg.data,
                    rows=_rows(leg),
                    method=method(name),
                    limit=limit,
                    threads=self.threads,
                    tol=tol,
                    repeats=leg.repeats,
                    rest=leg.rest,
                )
            )
            found += [] if record is None else [record]
            if record is not None and record["status"] == "absent":
                break
        return found

    def limit(self, leg: Leg, name: str, found: list[Record]) -> float:
        """Return the seconds for a fit, or a multiple of what our own took."""
        limit = leg.limit if fastest(found) is None else leg.curve_limit
        if leg.times_ours is not None and solvers()[name].rank > 0:
            same = (OURS, leg.data, _rows(leg))
            records = [r for r in self.runner.store.all() if "problem" in r]
            ours = fastest(
                r for r in records if (r["method"]["name"], r["problem"], r["rows"]) == same
            )
            limit = limit if ours is None else max(10.0, leg.times_ours * ours["seconds"])
        return limit


def _tolerances(leg: Leg, name: str, found: list[Record]) -> Iterator[float]:
    """Yield those of the leg, then smaller ones as long as the target is not reached."""
    if not solvers()[name].uses_tol:
        yield leg.tols[0]
        return
    for tol in leg.tols:
        yield tol
        if _narrowly_missed(found):  # half of it may do
            yield float(f"{tol / 2:g}")
    tol = min(leg.tols)
    while leg.insist and found and tol > SMALLEST_TOL and fastest(found) is None:
        if any(r["status"] != "answer" for r in found) or _no_better(found):
            return
        tol = float(f"{tol / 10:g}")
        yield tol


def _rows(leg: Leg) -> int:
    return leg.rows or tasks()[leg.data].rows


def _narrowly_missed(found: list[Record]) -> bool:
    """Return whether the last run missed the target by less than a factor of 3."""
    if not found or found[-1]["status"] != "answer" or fastest(found) is not None:
        return False
    return bool(found[-1]["violation"] < 3 * TARGET)


def _no_better(found: list[Record]) -> bool:
    """Return whether the smallest tolerance was no better than the next larger one."""
    last = sorted(found, key=lambda r: -r["tol"])[-2:]
    return len(last) == 2 and last[1]["violation"] > 0.8 * last[0]["violation"]


def _seconds(record: Record) -> float:
    """Return the seconds of a fit, infinity if it did not end."""
    return float(record.get("seconds", float("inf")))
