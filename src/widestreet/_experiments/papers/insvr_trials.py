"""Trials of one more sample: the optimum of random rows, and the addition of the next one.

A trial draws l + 1 rows and finds the optimum of l of them. The last one is added by the paper's
algorithm, whose steps and special cases are counted, and, where time is measured, by every
other method. Every solution is then checked here, from its coefficients alone (`checked`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import svm

from widestreet import NuSVR
from widestreet._experiments.harness.clock import seconds
from widestreet._experiments.harness.measurement import TOL, Measurement
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.solver import CACHE_MB
from widestreet._experiments.harness.task import Split
from widestreet._experiments.papers.insvr_problems import NU, Regression
from widestreet._src.engines.insvr.insvr import Insvr
from widestreet.online import OnlineNuSVR

CASES = ("conflict_1", "conflict_2", "sc_1", "sc_2")
STAGES = ("ia", "raia", "sra")
MORE = ("held", "no_tube")  # steps with sides held still, trials that start with an exact fit
FLAT = 1e-9  # of the largest target (or 1): a narrower tube is none
WAYS = ("insvr", "path", "libsvm", "cold", "warm")
LEAST = 3  # trials of every size, however long they take
STEPS = 3_000_000  # of LIBSVM, before it gives up


@dataclass(frozen=True)
class Check:
    """The distance of a solution from the optimum.

    Attributes
    ----------
    violation : float
        Of the optimality conditions, relative to the largest target (or 1).
    gap : float
        Primal minus dual objective, divided by the primal.
    """

    violation: float
    gap: float


def checked(K: Any, y: Any, coef: Any, box: float) -> Check:
    """Examine net coefficients of nu-SVR in LIBSVM's scale, found by any method."""
    scale, room = max(1.0, float(np.abs(y).max())), box * NU * len(y)
    fit = K @ coef
    rest = y - fit
    # 1) the tube that is best for this function: [low, high] about it
    place = min(len(y) - 1, int(np.floor(NU * len(y) / 2)))
    order = np.sort(rest)
    low, high = order[place], order[-1 - place]
    # 2) rows outside must be at their bounds, rows at a bound outside, free ones at the edge
    full, free = np.abs(coef) >= box * (1 - 1e-9), coef != 0
    worst = [0.0, np.max(rest[~full] - high, initial=0.0), np.max(low - rest[~full], initial=0.0)]
    worst.append(np.max(high - rest[free & (coef > 0)], initial=0.0))
    worst.append(np.max(rest[free & (coef < 0)] - low, initial=0.0))
    if np.abs(coef).sum() < room * (1 - 1e-9):
        worst.append(high - low)  # the sum may only fall short if the tube has no width
    # 3) both sums, in the same unit
    over = max(abs(coef.sum()), np.abs(coef).sum() - room, np.abs(coef).max() - box) / box
    outside = np.maximum(rest - high, 0).sum() + np.maximum(low - rest, 0).sum()
    half = 0.5 * float(coef @ fit)
    primal = half + box * (NU * len(y) * (high - low) / 2 + outside)
    dual = float(y @ coef) - half
    gap = float(abs(primal - dual) / max(abs(primal), 1e-300))
    return Check(float(max(max(worst) / scale, over)), gap)


def spread(alpha: Any, C: float) -> Any:
    """Return the same net coefficients with the common part of both sides spread over all rows."""
    net = np.maximum(alpha - alpha[::-1], 0.0)
    room = C - net.max(axis=0)
    return net + (alpha - net).sum() / 2 * room / room.sum()


# -- one trial -------------------------------------------------------------------------------------


class Trial:
    """Rows drawn at random: l old ones, a new one, and a spare one."""

    def __init__(self, problem: Regression, split: Split, size: int, seed: list[int]) -> None:
        rows = np.random.default_rng(seed).permutation(len(split.y))[: size + 2]
        self.problem, self.size = problem, size
        self.X, self.y = split.X[rows], split.y[rows]
        self.K = problem.values(self.X[: size + 1], self.X[: size + 1])

    @property
    def box(self) -> float:
        """LIBSVM's C when all rows are there."""
        return self.problem.C / (self.size + 1)

    def begin(self, threads: int, shared: bool = False) -> tuple[OnlineNuSVR, Insvr]:
        """Return our online estimator and the paper's at the optimum of the old rows.

        Without a tube there are many: the one at which our path ends, or, if `shared`, one at
        which all rows have both sides.
        """
        old, options = slice(self.size), self.problem.options()
        model = OnlineNuSVR(**options, C=self.problem.C, scaling="schoelkopf", n_jobs=threads)
        model.fit(self.X[old], self.y[old])
        path = _path(model)
        alpha = self.size * np.abs(path.layered(path.beta))  # both sides, in the paper's scale
        if shared:
            alpha = spread(alpha, self.problem.C)
        machine = Insvr(self.problem.C, NU)
        K, y = self.K[old, old], self.y[old]
        try:
            machine.load(K, y, alpha)
        except (ValueError, RuntimeError):  # too degenerate to begin in the middle
            machine.load(K, y)
        return model, machine

    def column(self) -> Any:
        """Kernel values of the new row with the old ones."""
        new = self.X[self.size : self.size + 1]
        return self.problem.values(new, self.X[: self.size])[0]

    def check(self, coef: Any) -> Check:
        return checked(self.K, self.y[: self.size + 1], coef, self.box)

    def check_model(self, model: Any) -> Check:
        coef = np.zeros(self.size + 1)
        coef[model.support_] = np.asarray(model.dual_coef_)[0]
        return self.check(coef)


# -- Table 3 ---------------------------------------------------------------------------------------


def count_cases(problem: Regression, split: Split, one: Measurement) -> Record:
    """Count the special cases of adding one sample."""
    asked = one.method.parameters
    sizes, trials = asked["sizes"], asked["trials"]
    problem = replace(problem, C=asked.get("C", problem.C))
    cells = []
    for size in _possible(sizes, split):
        cell: Record = {"size": size, "trials": trials, "failed": 0}
        cell |= dict.fromkeys((*CASES, *STAGES, *MORE, "trials_with_case", "n_sv"), 0)
        checks = []
        for number in range(trials):
            trial = Trial(problem, split, size, [one.seed, size, number])
            try:
                machine = trial.begin(one.threads, asked.get("shared", False))[1]
                no_tube = machine.tube <= FLAT * max(1.0, np.abs(trial.y[:size]).max())
                machine.add(trial.K[:size, size], trial.K[size, size], trial.y[size])
            except RuntimeError:
                cell["failed"] += 1
                continue
            for name in (*CASES, *STAGES, "held"):
                cell[name] += getattr(machine.last, name)
            cell["no_tube"] += int(no_tube)
            cell["trials_with_case"] += any(getattr(machine.last, name) for name in CASES)
            cell["n_sv"] += np.count_nonzero(machine.coef) / trials
            checks.append(trial.check(machine.coef))
        cells.append(cell | _worst(checks))
    return _summary(cells, cells)


# -- Figures 2 and 3 -------------------------------------------------------------------------------


def time_additions(problem: Regression, split: Split, one: Measurement) -> Record:
    """Measure steps and seconds of every method; fewer trials if time is short."""
    asked = one.method.parameters
    sizes, begun = _possible(asked["sizes"], split), time.perf_counter()
    cells = []
    for place, size in enumerate(sizes):
        until = begun + asked["seconds"] * (place + 1) / len(sizes)
        runs: list[Record] = []
        failed = 0
        for number in range(asked["trials"]):
            if len(runs) + failed >= LEAST and time.perf_counter() > until:
                break
            try:
                runs.append(added(Trial(problem, split, size, [one.seed, size, number]), one))
            except RuntimeError:
                failed += 1
        if runs:
            cells.append(_averaged(size, runs) | {"failed": failed})
        if time.perf_counter() > begun + asked["seconds"]:
            break
    return _summary(cells, [cell["insvr"] for cell in cells])


def added(trial: Trial, one: Measurement) -> Record:
    """Add the new row in every way."""
    size, every = trial.size, slice(trial.size + 1)
    model, machine = trial.begin(one.threads)
    X, y = trial.X[every], trial.y[every]
    options = trial.problem.options() | {"C": trial.box, "tol": TOL}
    theirs = svm.NuSVR(**options, cache_size=CACHE_MB, max_iter=STEPS)
    cold = NuSVR(**options, n_jobs=one.threads, random_state=0)
    warm = NuSVR(**options, n_jobs=one.threads, random_state=0, warm_start=True)
    spare = np.r_[0:size, size + 1] if len(trial.y) > size + 1 else np.r_[0:size, 0]
    warm.fit(trial.X[spare], trial.y[spare])
    path = _path(model).counts
    before = path.steps
    work: dict[str, Callable[[], Any]] = {
        "insvr": lambda: machine.add(trial.column(), trial.K[size, size], y[size]),
        "path": lambda: model.partial_fit(X[size:], y[size:]),
        "libsvm": lambda: theirs.fit(X, y),
        "cold": lambda: cold.fit(X, y),
        "warm": lambda: warm.fit(X, y),
    }
    times = {way: seconds(work[way]) for way in WAYS}
    found: Record = {name: getattr(machine.last, name) for name in (*STAGES, *CASES)}
    found["steps"] = path.steps - before
    found["n_sv"] = len(model.support_)
    models = {"path": model, "libsvm": theirs, "cold": cold, "warm": warm}
    checks = {"insvr": trial.check(machine.coef)}
    checks |= {way: trial.check_model(model) for way, model in models.items()}
    return found | {
        way: {"seconds": times[way], "violation": checks[way].violation, "gap": checks[way].gap}
        for way in WAYS
    }


def _path(model: OnlineNuSVR) -> Any:
    """Return the homotopy of a model, for its coefficients and counts."""
    optimum: Any = model._state.optima[None]
    return optimum.path


def _averaged(size: int, runs: list[Record]) -> Record:
    """Return means of steps and times, and the worst of the checks."""
    cell: Record = {"size": size, "trials": len(runs)}
    for name in (*STAGES, *CASES, "steps", "n_sv"):
        cell[name] = float(np.mean([run[name] for run in runs]))
    for way in WAYS:
        cell[way] = {"seconds": float(np.mean([run[way]["seconds"] for run in runs]))}
        cell[way] |= {key: max(run[way][key] for run in runs) for key in ("violation", "gap")}
    return cell


# -- both ------------------------------------------------------------------------------------------


def measure(problem: Regression, split: Split, one: Measurement) -> Record:
    """Measure times or count cases."""
    timed = "seconds" in one.method.parameters
    return (time_additions if timed else count_cases)(problem, split, one)


def _possible(sizes: list[int], split: Split) -> list[int]:
    """Return the sizes for which there are enough rows."""
    return [size for size in sizes if size + 2 <= len(split.y)]


def _worst(checks: list[Check]) -> Record:
    return {
        "violation": max((check.violation for check in checks), default=np.inf),
        "gap": max((check.gap for check in checks), default=np.inf),
    }


def _summary(cells: list[Record], checks: list[Record]) -> Record:
    """Return all cells, their worst checks and the number of trials."""
    if not cells:
        raise RuntimeError("no trial ended")
    worst = {
        "violation": max(check["violation"] for check in checks),
        "relative_gap": max(check["gap"] for check in checks),
    }
    trials = {"trials": sum(cell["trials"] for cell in cells)}
    trials["failed"] = sum(cell["failed"] for cell in cells)
    return worst | trials | {"n_sv": round(cells[-1]["n_sv"]), "cells": cells}


def cells_of(records: list[Record]) -> Iterator[Record]:
    """Yield all cells of records."""
    for record in records:
        yield from record.get("cells", ())
