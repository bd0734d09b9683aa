"""Fits that do not end elsewhere: as users have reported them, and constructed ones."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

from sklearn import svm

import widestreet as ws
from widestreet._experiments.harness.limited import limited
from widestreet._experiments.harness.tables import digits, markdown
from widestreet._experiments.studies.hard_problems import CASES, CONSTRUCTED, REPORTED, Case

CACHE_MB = 1000  # of scikit-learn


def ours(case: Case, threads: int) -> list[str]:
    """Fit a case and return its shape, the seconds and the last certificate as cells."""
    X, y = case.load()
    options = {"max_time": case.limit, "random_state": 0, "n_jobs": threads}
    begun = time.perf_counter()
    for _ in range(case.fits):
        model = getattr(ws, case.machine)(**case.parameters | options).fit(X, y)
    seconds, found = time.perf_counter() - begun, model.certificate_
    gap = f"{found.relative_gap:.1e}"
    if found.estimated_gap is not None:
        gap = f"estimated {found.estimated_gap:.1e}"
    figures = [str(found.status), f"{found.kkt_violation:.1e}", gap]
    return [f"{len(X):,} x {X.shape[1]}", digits(seconds), *figures]


def theirs(name: str) -> str:
    """Fit a case with scikit-learn; return the seconds and what our certificate says of it."""
    warnings.simplefilter("ignore")
    case = CASES[name]
    X, y = case.load()
    options = case.parameters | case.more | {"cache_size": CACHE_MB}
    begun = time.perf_counter()
    try:
        for _ in range(case.fits):
            model = getattr(svm, case.machine)(**options).fit(X, y)
    except ValueError as error:
        return f"{digits(time.perf_counter() - begun)} s, ValueError: {str(error).split('.')[0]}"
    seconds, found = time.perf_counter() - begun, ws.certify(model, X, y)
    figures = f"violation {found.kkt_violation:.1e}, gap {found.relative_gap:.1e}"
    return f"{digits(seconds)} s, {figures}"


def reported(threads: int) -> str:
    """Return a table of fits that users of scikit-learn have reported, with both libraries."""
    lines = []
    for name, case in REPORTED.items():
        other = limited(case.limit, theirs, name) or f"killed after {case.limit:.0f} s"
        lines.append([name, case.machine, *ours(case, threads), other, case.text])
    return markdown([*_HEAD, "scikit-learn", "rows"], lines)


def constructed(threads: int) -> str:
    """Return a table of constructed fits with their limits."""
    lines = [
        [name, case.machine, *ours(case, threads), f"{case.limit:.0f}"]
        for name, case in CONSTRUCTED.items()
    ]
    return markdown([*_HEAD, "limit, s"], lines)


_HEAD = ["case", "machine", "size", "widestreet, s", "status", "violation", "relative gap"]


PARTS: dict[str, Callable[[int], str]] = {"reported": reported, "constructed": constructed}
