"""Regularization paths of small problems."""

from __future__ import annotations

import numpy as np

import widestreet as ws
from support.machines import GAMMA, data

C, EPSILON = 10.0, 0.1


PATHS = {
    "C of SVC": (ws.SVC, "C", (0.01, 1000.0), {}),
    "C of SVR": (ws.SVR, "C", (0.01, 1000.0), {"epsilon": EPSILON}),
    "epsilon": (ws.SVR, "epsilon", (0.0, 1.0), {"C": C}),
    "nu of NuSVC": (ws.NuSVC, "nu", (0.05, 0.95), {}),
    "nu of NuSVR": (ws.NuSVR, "nu", (0.05, 1.0), {"C": C}),
}


N = 36


def rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    return data("svr" if PATHS[name][0] in (ws.SVR, ws.NuSVR) else "svc", N)


def path(name: str, X, y, **options):
    make, parameter, (low, high), fixed = PATHS[name]
    task = "regression" if make in (ws.SVR, ws.NuSVR) else "classification"
    ends = {f"{parameter}_min": low, f"{parameter}_max": high}
    return ws.regularization_path(
        X, y, **{"gamma": GAMMA, "n_jobs": 1, "task": task} | ends | fixed | options
    )


def values_along(found) -> np.ndarray:
    """The ends, and some breakpoints with points between them."""
    points = found.breakpoints
    some = points[:: max(1, len(points) // 8)]
    return np.unique(np.r_[points[[0, -1]], some, (some[1:] + some[:-1]) / 2])
