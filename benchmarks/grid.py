"""A grid over C and gamma: every point anew, or each beginning at the solution of the last."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn import svm

import widestreet as ws
from widestreet.datasets import ringnorm, twonorm

ROWS = 5000
PARAMETERS = {"C": np.logspace(-1, 3, 9), "gamma": np.logspace(-3, -1, 5)}


def walk(make: Any, X: Any, y: Any) -> tuple[float, Any, Any]:
    """Seconds for the whole grid, the objective of each point and the pair steps it took.

    C grows fastest, so that a warm start has only that to adapt to.
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


def run() -> list[dict[str, Any]]:
    warnings.simplefilter("ignore")
    records = []
    for name, generate in (("twonorm", twonorm), ("ringnorm", ringnorm)):
        X, y = generate(ROWS, random_state=7)
        ws.SVC().fit(X[:2000], y[:2000])
        cold = walk(lambda: ws.SVC(random_state=0), X, y)
        warm = walk(lambda: ws.SVC(random_state=0, warm_start=True), X, y)
        theirs = walk(lambda: svm.SVC(cache_size=2000), X, y)
        records.append(
            {
                "problem": name,
                "rows": ROWS,
                "points": len(cold[1]),
                "seconds": {"scikit-learn": theirs[0], "cold": cold[0], "warm": warm[0]},
                "steps": {
                    "scikit-learn": int(theirs[2].sum()),
                    "cold": int(cold[2].sum()),
                    "warm": int(warm[2].sum()),
                },
                "largest_difference": float(np.max(np.abs(cold[1] / warm[1] - 1))),
            }
        )
    return records


def table(records: list[dict[str, Any]]) -> str:
    lines = [
        "| problem | rows | points | | seconds | pair steps | times the warm grid |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in records:
        for who in r["seconds"]:
            ratio = r["seconds"][who] / r["seconds"]["warm"]
            lines.append(
                f"| {r['problem']} | {r['rows']:,} | {r['points']} | {who} | "
                f"{r['seconds'][who]:.1f} | {r['steps'][who]:,} | {ratio:.1f} |"
            )
    return "\n".join(lines)
