"""Grid searches with shared work against scikit-learn's search, and the cost of a limit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn import model_selection, svm
from sklearn.datasets import load_digits

import widestreet as ws
from widestreet._experiments.harness.clock import seconds
from widestreet._experiments.harness.tables import digits, markdown
from widestreet._experiments.studies.equal_searches import equal
from widestreet.datasets import checkerboard, ringnorm
from widestreet.model_selection import GridSearchCV

GRID: dict[str, Any] = {"C": np.logspace(-1, 3, 9), "gamma": np.logspace(-3, 1, 8)}
FOLDS = 5
NEVER = 1e6  # seconds


def noisy_labels(rows: int) -> tuple[Any, Any]:
    """Return normal columns, and the sign of x1 + x2^2 / 2 - 1/2 with normal noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.normal(size=rows) > 0.5, 1, -1)
    return X, y


def ten_digits() -> tuple[Any, Any]:
    """Return images of digits with values up to 1."""
    X, y = load_digits(return_X_y=True)
    return X / 16, y


Case = tuple[str, Callable[[], tuple[Any, Any]], list[int], bool]
CASES: list[Case] = [  # name, data, numbers of the gamma of the other searches, also scikit-learn's
    ("noisy labels", partial(noisy_labels, 1000), list(range(8)), True),
    ("noisy labels", partial(noisy_labels, 2000), [3, 6], True),
    ("noisy labels", partial(noisy_labels, 5000), [2, 6], False),
    ("ringnorm", partial(ringnorm, 5000, random_state=7), [2, 5], False),
    ("digits, ten classes", ten_digits, [2, 3], False),
]


def _seconds(kind: Any, estimator: Any, grid: Any, X: Any, y: Any, **options: Any) -> float:
    """Return the seconds of a search without a refit."""
    return seconds(kind(estimator, grid, cv=FOLDS, refit=False, **options).fit, X, y)


def shared(threads: int) -> str:
    """Return a table of the seconds of our search, and ratios on a part of the grid."""
    lines = []
    for name, load, part, both in CASES:
        X, y = load()
        ours = ws.SVC(n_jobs=threads)
        small = GRID | {"gamma": GRID["gamma"][part]}
        whole = _seconds(GridSearchCV, ours, GRID, X, y)
        here = _seconds(GridSearchCV, ours, small, X, y)
        others = [ours, svm.SVC(cache_size=500)] if both else [ours]
        taken = [_seconds(model_selection.GridSearchCV, one, small, X, y) for one in others]
        cells = [f"{one / here:.1f} times" for one in taken] + [""] * (2 - len(taken))
        numbers = "all" if len(part) == len(GRID["gamma"]) else ", ".join(map(str, part))
        lines.append([f"{len(y):,}, {name}", digits(whole), numbers, *cells])
    head = ["rows", "ours, whole grid", "gamma of the ratios"]
    head += ["scikit-learn's search over `ws.SVC`", "over `sklearn.svm.SVC`"]
    return markdown(head, lines)


def limited(threads: int) -> str:
    """Return a table of the time of searches with a limit that is not reached, over that without.

    The fastest of three runs in turn counts.
    """
    X, y = checkerboard(1500, random_state=0)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.2, -y, y)
    ours, lines = ws.SVC(n_jobs=threads), []
    for name, gammas in (('"scale"', ["scale"]), ("one", [2.0]), ("four", [0.5, 1.0, 2.0, 4.0])):
        grid = {"C": GRID["C"], "gamma": gammas}
        search = partial(_seconds, GridSearchCV, ours, grid, X, y)
        taken = [[search(max_time=limit) for limit in (None, NEVER)] for _ in range(3)]
        without, with_limit = np.min(taken, axis=0)
        lines.append([name, digits(without), f"{with_limit / without:.1f} times"])
    return markdown(["gamma", "seconds without a limit", "with a limit"], lines)


PARTS: dict[str, Callable[[int], str]] = {"equal": equal, "shared": shared, "limited": limited}
