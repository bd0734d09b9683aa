"""Grid searches with shared work against scikit-learn's search, and the cost of a limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn import model_selection, svm
from sklearn.datasets import load_digits

import widestreet as ws
from widestreet._experiments.data import adult_and_web
from widestreet._experiments.harness.clock import seconds
from widestreet._experiments.harness.discovery import tasks
from widestreet._experiments.harness.tables import digits, markdown
from widestreet._experiments.harness.task import TEST_ROWS, Split
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


@dataclass(frozen=True)
class Part:
    """A part of the grid on a larger set.

    Attributes
    ----------
    name : str
    load : callable
        Returns rows and labels.
    C, gamma : tuple of float
    needs : str
        Name of the task whose files are read; empty for a generator.
    """

    name: str
    load: Callable[[], tuple[Any, Any]]
    C: tuple[float, ...]
    gamma: tuple[float, ...]
    needs: str = ""

    @property
    def present(self) -> bool:
        return not self.needs or tasks()[self.needs].missing() is None


def shuffled(load: Callable[[], Split]) -> tuple[Any, Any]:
    """Return the rows of a task, training and test rows together, in random order."""
    split = load()
    X, y = np.concatenate([split.X, split.X_test]), np.concatenate([split.y, split.y_test])
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def covtype_part(rows: int, C: tuple[float, ...]) -> Part:
    """Return a part on covtype, class 2 against the rest."""
    load = partial(shuffled, partial(tasks()["covtype-2"].load, rows - TEST_ROWS))
    return Part("covtype of class 2, shuffled", load, C, (0.03, 0.3), "covtype-2")


def large_parts() -> list[Part]:
    """Return the parts in the order of the table."""
    noisy = partial(noisy_labels, 5000)
    adult = partial(shuffled, partial(adult_and_web.load, "a9a", 123, True, 50_000, 50_000))
    return [
        Part("noisy labels", noisy, tuple(GRID["C"]), tuple(GRID["gamma"])),
        covtype_part(20_000, (0.1, 1.0, 10.0, 100.0)),
        covtype_part(50_000, (0.1, 1.0, 10.0)),
        Part("adult (a9a), all rows", adult, (0.1, 1.0, 10.0), (0.01, 0.1), "a9a-dense"),
    ]


def large(threads: int) -> str:
    """Return a table of the seconds of our search on many rows, and the ratio of scikit-learn's."""
    lines = []
    for part in large_parts():
        if part.present:
            X, y = part.load()
            grid, ours = {"C": part.C, "gamma": part.gamma}, ws.SVC(n_jobs=threads)
            here = _seconds(GridSearchCV, ours, grid, X, y)
            there = _seconds(model_selection.GridSearchCV, ours, grid, X, y)
            points = f"{len(part.C)} x {len(part.gamma)}"
            size = f"{X.shape[0]:,} x {X.shape[1]}"
            lines.append([part.name, size, points, digits(here), f"{there / here:.1f} times"])
    head = ["data", "rows x features", "C x gamma", "ours, s"]
    return markdown([*head, "scikit-learn's search over `ws.SVC`"], lines)


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


PARTS: dict[str, Callable[[int], str]] = {
    "equal": equal,
    "shared": shared,
    "large": large,
    "limited": limited,
}
