"""Tasks: data, a kernel, and fixed parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from widestreet._experiments.harness.files import present

TEST_ROWS = 10_000  # at most so many are predicted: enough for two digits


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on and rows to predict."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


@dataclass(frozen=True)
class Task:
    """One line of the tables.

    Attributes
    ----------
    name : str
        Its name on the command line.
    load : callable
        Given a number of training rows, returns a `Split`; the same one each time.
    rows : int
        Training rows of the full race.
    kind : {"svc", "svr"}
    origin : str
        Origin of the parameters.
    files : tuple of str
        Files that `load` reads from WIDESTREET_DATA; none for a generator.
    fetched : bool
        Whether scikit-learn can download it instead.
    """

    name: str
    load: Callable[[int], Split]
    rows: int
    kind: str
    gamma: float
    C: float
    origin: str
    epsilon: float = 0.0
    kernel: str = "rbf"
    files: tuple[str, ...] = ()
    fetched: bool = False

    def missing(self) -> str | None:
        """Return why it cannot be loaded, or None."""
        return present(self.files, self.fetched) if self.files else None

    def parameters(self) -> str:
        """Return kernel and parameters as text."""
        words = [] if self.kernel == "rbf" else [self.kernel]
        words += [f"gamma {self.gamma:g}"] if self.kernel == "rbf" else []
        words += [f"C {self.C:g}"]
        words += [f"epsilon {self.epsilon:g}"] if self.kind == "svr" else []
        return ", ".join(words)


def some(X: Any, y: Any, rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Return a fixed random subset of the rows; smaller subsets lie in larger ones."""
    if rows >= X.shape[0]:
        return X, y
    chosen = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:rows])
    return X[chosen], y[chosen]


def part(X: Any, y: Any, rows: int, test_rows: int = TEST_ROWS) -> Split:
    """Return fixed random rows to train on, and fixed test rows from the remainder."""
    order = np.random.default_rng(0).permutation(X.shape[0])
    train, test = np.sort(order[:-test_rows][:rows]), order[-test_rows:]
    return Split(X[train], y[train], X[test], y[test])


def given(X: Any, y: Any, X_test: Any, y_test: Any, rows: int, test_rows: int = TEST_ROWS) -> Split:
    """Return the publisher's training and test rows, or fixed random subsets of them."""
    return Split(*some(X, y, rows), *some(X_test, y_test, test_rows))
