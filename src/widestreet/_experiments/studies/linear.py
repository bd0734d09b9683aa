"""The linear kernel on many noisy rows, beside LinearSVC at an equal objective."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

import widestreet as ws
from widestreet._experiments.harness.limited import limited
from widestreet._experiments.harness.tables import digits, markdown

ROWS, COLUMNS, C = 1_000_000, 50, 10.0
LIMIT = 60.0  # seconds of a fit
SWEEPS = (1, 10, 100, 1000)  # over all rows that LinearSVC takes
INTERCEPT = 10.0  # scale of the column of ones of LinearSVC, which is regularised


def rows(n: int, d: int) -> tuple[Any, Any]:
    """Return classes that a plane separates but for noise of the same size."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + np.sqrt(d) * rng.standard_normal(n) > 0, 1, -1)
    return X, y


def objective(w: Any, b: float, X: Any, y: Any) -> float:
    """Return the primal objective of a model."""
    return 0.5 * float(w @ w) + C * float(np.maximum(0.0, 1.0 - y * (X @ w + b)).sum())


def ours(n: int, d: int, threads: int) -> tuple[float, float, str]:
    """Return the seconds, the objective and the status of our fit."""
    X, y = rows(n, d)
    model = ws.SVC(kernel="linear", C=C, max_time=LIMIT, random_state=0, n_jobs=threads)
    begun = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begun
    found = model.certificate_
    status = f"{found.status}, gap {found.relative_gap:.1e}"
    return seconds, objective(model.coef_[0], float(model.intercept_[0]), X, y), status


def theirs(n: int, d: int, sweeps: int) -> tuple[float, float]:
    """Return the seconds and the objective of LinearSVC after so many sweeps."""
    warnings.simplefilter("ignore")  # that it did not converge
    X, y = rows(n, d)
    model = LinearSVC(
        loss="hinge",
        dual=True,
        C=C,
        tol=1e-12,
        max_iter=sweeps,
        intercept_scaling=INTERCEPT,
        random_state=0,
    )
    begun = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begun
    return seconds, objective(model.coef_[0], float(model.intercept_[0]), X, y)


def equal_objective(threads: int) -> str:
    """Return a table of times and objectives, relative to ours."""
    seconds, best, status = ours(ROWS, COLUMNS, threads)
    lines = [["widestreet", "", digits(seconds), f"{best:.10g}", "", status]]
    for sweeps in SWEEPS:
        found = limited(LIMIT, theirs, ROWS, COLUMNS, sweeps)
        if found is None:
            lines.append(["LinearSVC", f"{sweeps}", "", "", "", f"killed after {LIMIT:.0f} s"])
            break
        above = (found[1] - best) / best
        line = [digits(found[0]), f"{found[1]:.10g}", f"{above:.1e}", ""]
        lines.append(["LinearSVC", f"{sweeps}", *line])
    return markdown(["solver", "sweeps", "seconds", "objective", "above ours, relative", ""], lines)


PARTS: dict[str, Callable[[int], str]] = {"equal-objective": equal_objective}
