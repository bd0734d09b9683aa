"""SVMs that choose their parameters, against a grid search of scikit-learn over its own SVMs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import svm
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_classification,
    make_friedman1,
    make_moons,
)
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from widestreet._experiments.harness.clock import seconds
from widestreet._experiments.harness.discovery import tasks
from widestreet._experiments.harness.tables import digits, markdown
from widestreet.datasets import checkerboard, ringnorm, twonorm

ROWS, TEST_ROWS, SPLITS = 500, 4000, 3
FOLDS = 5
GRID = {"C": np.logspace(-2, 3, 6), "gamma": np.logspace(-4, 1, 6)}
EPSILONS = [0.03, 0.3]  # of the standard deviation of y, as the first values of SVRCV
SPIRAL_ROWS, SPIRAL_NOISE = 3000, 0.085


def _classifications() -> Iterator[tuple[str, Any, Any]]:
    """Yield rows and labels; real data that are not there are left out."""
    for name, load in (("breast cancer", load_breast_cancer), ("wine", load_wine)):
        yield name, *load(return_X_y=True)
    yield "digits", *load_digits(return_X_y=True)
    rows = ROWS + TEST_ROWS
    for make in (twonorm, ringnorm, checkerboard):
        yield make.__name__, *make(rows, random_state=0)
    yield "moons", *make_moons(rows, noise=0.3, random_state=0)
    noisy = make_classification(rows, 20, n_informative=8, n_classes=4, flip_y=0.1, random_state=0)
    yield "four noisy classes", *noisy
    for name in ("ijcnn1", "a9a", "covtype-2"):
        yield from _of_task(name)


def _regressions() -> Iterator[tuple[str, Any, Any]]:
    """Yield rows and targets; real data that are not there are left out."""
    yield "friedman1", *make_friedman1(ROWS + TEST_ROWS, noise=1.0, random_state=0)
    yield "diabetes", *load_diabetes(return_X_y=True)
    for name in ("cpusmall", "cal_housing"):
        yield from _of_task(name)


def _of_task(name: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the rows of a task if its data are there."""
    task = tasks()[name]
    if task.missing() is None:
        split = task.load(ROWS + TEST_ROWS)
        yield name, split.X, split.y


def _scaled(model: Any, X: Any) -> Any:
    """Return a model after a scaler, which leaves sparse rows sparse."""
    return make_pipeline(StandardScaler(with_mean=isinstance(X, np.ndarray)), model)


def _theirs(model: Any, X: Any, y: Any, threads: int) -> Any:
    """Return scikit-learn's search over a pipeline of its own."""
    name = type(model).__name__.lower()
    grid = {f"{name}__{key}": values for key, values in GRID.items()}
    if isinstance(model, svm.SVR):
        size = float(np.std(y))
        grid["svr__C"] = size * GRID["C"]
        grid["svr__epsilon"] = size * np.array(EPSILONS)
    return GridSearchCV(_scaled(model, X), grid, cv=FOLDS, n_jobs=threads)


def _compared(name: str, X: Any, y: Any, ours: Any, theirs: Any, threads: int) -> list[str]:
    """Return a line of errors and times, means over random halves or samples of the rows."""
    found = []
    labels = isinstance(ours, ws.SVCCV)
    rows = min(ROWS, len(y) // 2)
    for seed in range(SPLITS):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, train_size=rows, stratify=y if labels else None, random_state=seed
        )
        one = _scaled(ours, X)
        other = _theirs(theirs, X_train, y_train, threads)
        taken = [seconds(model.fit, X_train, y_train) for model in (one, other)]
        found.append([*(1.0 - model.score(X_test, y_test) for model in (one, other)), *taken])
    a, b, c, d = np.mean(found, axis=0)
    size = f"{rows:,} x {X.shape[1]}"
    return [name, size, f"{100 * a:.1f}", f"{100 * b:.1f}", digits(c), f"{d / c:.1f} times"]


_HEAD = ["data", "rows x features", "ours", "scikit-learn", "seconds, ours", "scikit-learn"]


def classifiers(threads: int) -> str:
    """Return a table of test errors in percent, and the time of the searches with their refits."""
    ours = ws.SVCCV(cv=FOLDS, random_state=0, n_jobs=threads)
    lines = [_compared(name, X, y, ours, svm.SVC(), threads) for name, X, y in _classifications()]
    return markdown(_HEAD, lines)


def regressors(threads: int) -> str:
    """Return a table of 100 (1 - R^2) on test rows, and the time of searches with their refits."""
    ours = ws.SVRCV(cv=FOLDS, random_state=0, n_jobs=threads)
    lines = [_compared(name, X, y, ours, svm.SVR(), threads) for name, X, y in _regressions()]
    return markdown(_HEAD, lines)


def spirals(rows: int, seed: int) -> tuple[Any, Any]:
    """Return two spirals of one and a half turns with normal noise."""
    rng = np.random.default_rng(seed)
    angle = 3.0 * np.pi * np.sqrt(rng.uniform(0.02, 1.0, rows))
    y = rng.integers(2, size=rows)
    side = np.where(y == 1, 1.0, -1.0) * angle / (3.0 * np.pi)
    X = np.column_stack([side * np.cos(angle), side * np.sin(angle)])
    return X + SPIRAL_NOISE * rng.standard_normal(X.shape), y


def widths(threads: int) -> str:
    """Return a table of errors and times of ensembles with and without a choice of the width."""
    (X, y), (X_test, y_test) = spirals(SPIRAL_ROWS, 0), spirals(TEST_ROWS, 1)
    options: dict[str, Any] = {"random_state": 0, "n_jobs": threads}
    models: dict[str, Any] = {
        '`EnsembleSVC(gamma="paper")`': ws.EnsembleSVC(**options),
        '`EnsembleSVC(gamma="cv")`': ws.EnsembleSVC(gamma="cv", **options),
        "`SVCCV()`": ws.SVCCV(**options),
    }
    lines = []
    for name, model in models.items():
        taken = seconds(model.fit, X, y)
        wrong = 100.0 * (1.0 - model.score(X_test, y_test))
        lines.append([name, f"{model.gamma_:.3g}", f"{wrong:.1f}", digits(taken)])
    return markdown(["model", "gamma", "error, %", "seconds"], lines)


PARTS: dict[str, Callable[[int], str]] = {
    "classifiers": classifiers,
    "regressors": regressors,
    "widths": widths,
}
