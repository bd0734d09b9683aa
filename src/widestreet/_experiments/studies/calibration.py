"""Probabilities against scikit-learn's calibration, and the coverage of intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import svm as sklearn_svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_classification,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_moons,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import widestreet as ws
from widestreet._experiments.harness.discovery import tasks
from widestreet._experiments.harness.tables import markdown
from widestreet.datasets import checkerboard, ringnorm, twonorm

ROWS, TEST_ROWS, SPLITS = 3000, 5000, 5  # of the data sets whose probabilities are compared
FEW_ROWS, MANY_SPLITS = 300, 60  # few rows need more splits
LEVEL, SAMPLES, SAMPLE_ROWS, SAMPLE_TESTS = 0.9, 30, 200, 500  # of intervals
REPEATS = 3  # of each fit, of which the fastest counts


def _classifications() -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield rows, labels and an SVM; real data that are not there are left out."""
    for name, load in (("breast cancer", load_breast_cancer), ("wine", load_wine)):
        X, y = load(return_X_y=True)
        yield name, scale(X), y, ws.SVC()
    X, y = load_digits(return_X_y=True)
    yield "digits", X / 16, y, ws.SVC()
    for one, gamma in ((twonorm, 0.02), (ringnorm, 0.05)):
        yield one.__name__, *one(ROWS, random_state=0), ws.SVC(gamma=gamma)
    yield "checkerboard", *checkerboard(ROWS, random_state=0), ws.SVC(C=100.0, gamma=2.0)
    yield "moons", *make_moons(ROWS, noise=0.3, random_state=0), ws.SVC(gamma=1.0)
    noisy = make_classification(ROWS, 20, n_informative=8, n_classes=4, flip_y=0.1, random_state=0)
    yield "four noisy classes", *noisy, ws.SVC()
    for name in ("ijcnn1", "a9a", "covtype-2"):
        task = tasks()[name]
        if task.missing() is None:
            split = task.load(2 * ROWS)
            yield name, split.X, split.y, ws.SVC(C=task.C, gamma=task.gamma)


def probabilities(threads: int) -> str:
    """Return a table of log loss, Brier score and additional time of calibrations.

    Times are those of scikit-learn's `CalibratedClassifierCV(cv=5, ensemble=False)`, less that of
    one fit, in units of that of `CalibratedSVC`.
    """
    lines = []
    for name, X, y, svm in _classifications():
        svm.set_params(n_jobs=threads, random_state=0)
        found: list[list[float]] = []
        for seed in range(SPLITS if X.shape[0] > FEW_ROWS else MANY_SPLITS):
            X_train, X_test, y_train, y_test = train_test_split(
                X, y, test_size=0.5, stratify=y, random_state=seed
            )
            ours = ws.CalibratedSVC(svm)
            other = sklearn_svm.SVC(kernel=svm.kernel, C=svm.C, gamma=svm.gamma)
            row = [0.0] * 9
            for k, model in enumerate((ours, _folds(svm), _folds(other))):
                seconds = _seconds(model, X_train, y_train) - _seconds(
                    model.estimator, X_train, y_train
                )
                row[3 * k + 2] = seconds
                p = model.predict_proba(X_test)
                row[3 * k : 3 * k + 2] = log_loss(y_test, p), _brier(model.classes_, y_test, p)
            found.append(row)
        a, b, c, d, e, f, _, _, i = np.mean(found, axis=0)
        size = f"{X.shape[0] // 2:,} x {X.shape[1]}"
        scores = [f"{value:.4f}" for value in (a, d, b, e)]
        lines.append([name, size, str(ours.cv_), *scores, f"{f / c:.1f}", f"{i / c:.1f}"])
    head = ["data", "rows x features", "`cv_`", "log loss", "of scikit-learn", "Brier score"]
    head += ["of scikit-learn", "its extra time, `ws.SVC` inside", "`sklearn.svm.SVC` inside"]
    return markdown(head, lines)


def _folds(estimator: Any) -> Any:
    """Return the calibration of scikit-learn that trains one final model."""
    return CalibratedClassifierCV(estimator, cv=5, ensemble=False)


def _seconds(model: Any, X: Any, y: Any) -> float:
    """Return the seconds of the fastest of some fits."""
    found = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        model.fit(X, y)
        found.append(time.perf_counter() - begun)
    return min(found)


def _brier(classes: Any, y: Any, p: Any) -> float:
    """Return the mean squared distance from the true class, halved for two classes."""
    square = float(np.square(p - (classes == np.asarray(y)[:, None])).sum(axis=1).mean())
    return square / 2 if len(classes) == 2 else square


def _regressions() -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield rows, targets and an SVM; real data that are not there are left out."""
    rng = np.random.default_rng(0)
    for k, make in enumerate((make_friedman1, make_friedman2, make_friedman3)):
        X, y = make(TEST_ROWS, noise=(1.0, 100.0, 0.1)[k], random_state=0)
        yield make.__name__.removeprefix("make_"), scale(X), scale(y), ws.SVR(C=10.0)
    X = rng.uniform(-3, 3, (TEST_ROWS, 1))
    spread = 0.1 + 0.2 * np.abs(X[:, 0])
    y = np.sin(2 * X[:, 0]) + spread * rng.standard_normal(TEST_ROWS)
    yield "sine, uneven noise", X, y, ws.SVR(C=10.0, gamma=1.0)
    X = rng.standard_normal((TEST_ROWS, 10))
    y = X[:, 0] - X[:, 1] + rng.standard_t(2, TEST_ROWS)
    yield "linear, heavy tails", X, y, ws.NuSVR(kernel="linear", C=1.0)
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes", scale(X), scale(y), ws.NuSVR(C=1.0)
    for name in ("cpusmall", "cal_housing", "kin40k", "casp_protein"):
        task = tasks()[name]
        if task.missing() is None:
            split = task.load(TEST_ROWS)
            svm = ws.SVR(C=task.C, gamma=task.gamma, epsilon=task.epsilon)
            yield name, split.X, split.y, svm


def intervals(threads: int) -> str:
    """Return a table of the coverage of intervals, by jackknife+ and by CV+."""
    lines = []
    for name, X, y, svm in _regressions():
        svm.set_params(n_jobs=threads, random_state=0)
        line = [name, f"{min(SAMPLE_ROWS, len(y) // 2)} x {X.shape[1]}"]
        for cv in ("loo", 10):
            covered, width = _coverage(ws.IntervalSVR(svm, confidence_level=LEVEL, cv=cv), X, y)
            error = np.std(covered, ddof=1) / np.sqrt(len(covered))
            apart = (np.mean(covered) - LEVEL) / error
            line += [f"{np.mean(covered):.3f}", f"{error:.3f}", f"{apart:+.1f}", f"{width:.2f}"]
        lines.append(line)
    head = ["data", "rows x features"]
    for method in ("jackknife+", "CV+, 10 folds"):
        head += [f"coverage, {method}", "standard error", "difference / error", "width"]
    return markdown(head, lines)


def _coverage(model: Any, X: Any, y: Any) -> tuple[list[float], float]:
    """Return the coverage of each random sample of rows, and the mean width."""
    covered, widths = [], []
    rows = min(SAMPLE_ROWS, len(y) // 2)
    for seed in range(SAMPLES):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:rows], order[rows : rows + SAMPLE_TESTS]
        low, high = model.fit(X[train], y[train]).predict_interval(X[test]).T
        covered.append(float(np.mean((low <= y[test]) & (y[test] <= high))))
        widths.append(float(np.mean(high - low)))
    return covered, float(np.mean(widths))


PARTS: dict[str, Callable[[int], str]] = {"probabilities": probabilities, "intervals": intervals}
