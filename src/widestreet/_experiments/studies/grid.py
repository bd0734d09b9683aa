"""A grid over C and gamma: every point anew, or each started at the solution of the last."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn import svm

import widestreet as ws
from widestreet._experiments.harness.tables import markdown
from widestreet.datasets import ringnorm, twonorm

ROWS = 5000
PARAMETERS = {"C": np.logspace(-1, 3, 9), "gamma": np.logspace(-3, -1, 5)}


def walk(make: Any, X: Any, y: Any) -> tuple[float, Any, Any]:
    """Return the seconds of the grid, the objective of each point and its pair steps.

    C changes fastest, so that a warm start adapts to that only.
    """
    objectives, steps = [], []
    begun = time.perf_counter()
    model = make()
    for gamma in PARAMETERS["gamma"]:
        for C in PARAMETERS["C"]:
            model.set_params(C=C, gamma=gamma).fit(X, y)
            certificate = getattr(model, "certificate_", None)
            objectives.append(certificate.dual_objective if certificate else np.nan)
            steps.append(int(np.sum(model.n_iter_)))
    return time.perf_counter() - begun, np.array(objectives), np.array(steps)


def warm_starts(threads: int) -> str:
    """Return a table of the time of the grid: every point anew, and with warm starts."""
    lines = []
    for name, generate in (("twonorm", twonorm), ("ringnorm", ringnorm)):
        X, y = generate(ROWS, random_state=7)
        ours = partial(ws.SVC, random_state=0, n_jobs=threads)
        ours().fit(X[:2000], y[:2000])
        found = {
            "scikit-learn": walk(partial(svm.SVC, cache_size=2000), X, y),
            "cold": walk(ours, X, y),
            "warm": walk(partial(ours, warm_start=True), X, y),
        }
        for way, (seconds, objectives, steps) in found.items():
            ratio = seconds / found["warm"][0]
            apart = np.max(np.abs(objectives / found["warm"][1] - 1))
            line = [name, f"{ROWS:,}", str(len(steps)), way, f"{seconds:.1f}", f"{steps.sum():,}"]
            lines.append([*line, f"{ratio:.1f}", "" if np.isnan(apart) else f"{apart:.1e}"])
    head = ["problem", "rows", "points", "", "seconds", "pair steps", "times the warm grid"]
    return markdown([*head, "largest difference of objectives"], lines)


PARTS: dict[str, Callable[[int], str]] = {"warm-starts": warm_starts}
