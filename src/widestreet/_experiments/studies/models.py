"""Fitted models: latency of one row, support vectors after compaction, time of SHAP values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_moons
from sklearn.preprocessing import scale

import widestreet as ws
from widestreet._experiments.harness.tables import markdown
from widestreet.datasets import checkerboard, ringnorm

VECTORS, FEATURES = (100, 1000, 10_000), (10, 100)
CALLS = 2000
POINTS, POINTS_AT_ONCE = 1_000_000, 50_000
EXPLAINED, BACKGROUND, TRAINED = 100, 100, 1500


def one_row(threads: int) -> str:
    """Return a table of the time of a prediction of one row."""
    lines = []
    for n in VECTORS:
        for d in FEATURES:
            rng = np.random.default_rng(n + d)
            X, y = rng.normal(size=(n, d)), rng.integers(0, 2, size=n)
            rows = rng.normal(size=(CALLS, 1, d))
            found = []
            for make in (svm.SVC, ws.SVC):
                model = make(C=1e-3, gamma=1.0 / d).fit(X, y)  # nearly all rows are support vectors
                model.predict(rows[0])
                found += [1e6 * q for q in np.quantile(_seconds(model.predict, rows), [0.5, 0.99])]
            lines.append([f"{n:,}", str(d), *(f"{value:.0f}" for value in found)])
    head = ["support vectors", "features", "scikit-learn, median us", "99 %"]
    return markdown([*head, "widestreet, median us", "99 %"], lines)


def _seconds(call: Callable[[Any], Any], rows: Any) -> list[float]:
    """Return the time of each call."""
    found = []
    for row in rows:
        begun = time.perf_counter()
        call(row)
        found.append(time.perf_counter() - begun)
    return found


def _problems() -> Iterator[tuple[str, Any, Any, Any, float]]:
    """Yield problems with a tolerance of their decision values."""
    X, y = checkerboard(20_000, random_state=0)
    yield "checkerboard", ws.SVC(C=100.0, gamma=2.0), X, y, 0.2
    X, y = make_moons(5000, noise=0.25, random_state=0)
    yield "moons", ws.SVC(gamma=1.0), X, y, 0.01
    X, y = ringnorm(2000, random_state=0)
    yield "ringnorm", ws.SVC(gamma=0.02), X, y, 0.1
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", ws.SVC(), scale(X), y, 0.1
    X, y = load_digits(return_X_y=True)
    yield "digits, ten classes", ws.SVC(decision_function_shape="ovo"), X / 16, y, 0.1
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes, regression", ws.SVR(C=10.0, gamma=0.3), scale(X)[:, [2, 3, 8]], y, 1.0


def compaction(threads: int) -> str:
    """Return a table of support vectors before and after `compact`."""
    lines = []
    for name, model, X, y, tolerance in _problems():
        model.set_params(n_jobs=threads, random_state=0).fit(X, y)
        small = model.compact(tolerance)
        measured = model.compact(tolerance, rows=X, quantile=0.99).compaction_
        reached = small.compaction_
        size = f"{X.shape[0]:,} x {X.shape[1]}"
        counts = [f"{reached.n_before:,}", f"{reached.n_after:,}"]
        bounds = [f"{reached.bound:.2g}", f"{_largest_difference(model, small, X):.1g}"]
        lines.append([name, size, f"{tolerance:g}", *counts, *bounds, f"{measured.n_after:,}"])
    head = ["problem", "rows x features", "tolerance", "support vectors", "after", "proven bound"]
    return markdown([*head, "largest difference found", "after, 99 % of the rows"], lines)


def _largest_difference(model: Any, other: Any, X: Any) -> float:
    """Return the largest difference of decision values of random points and of noisy rows."""
    rng, found = np.random.default_rng(1), 0.0
    low, high = X.min(axis=0), X.max(axis=0)
    for a in range(0, POINTS, POINTS_AT_ONCE):
        Z = rng.uniform(low, high, size=(POINTS_AT_ONCE, X.shape[1]))
        if a // POINTS_AT_ONCE % 2:
            Z = X[rng.integers(len(X), size=len(Z))] + 0.1 * (Z - low)
        values = [getattr(m, "decision_function", m.predict)(Z) for m in (model, other)]
        found = max(found, float(np.abs(values[0] - values[1]).max()))
    return found


def explanation(threads: int) -> str:
    """Return a table of the time of SHAP values, against `shap.KernelExplainer` if it is there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(TRAINED, 20))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=TRAINED) > 0
    model = ws.SVC(gamma=0.05, n_jobs=threads).fit(X, y)
    rows, background = X[:EXPLAINED], X[-BACKGROUND:]
    begun = time.perf_counter()
    values = ws.explain(model, rows, background).values
    lines = [["widestreet", f"{time.perf_counter() - begun:.2g}", "exact"]]
    try:
        shap: Any = import_module("shap")
    except ImportError:
        return markdown(["", f"seconds, {len(model.support_):,} support vectors", "error"], lines)
    for name, other in (("widestreet", model), ("scikit-learn", svm.SVC(gamma=0.05).fit(X, y))):
        explainer = shap.KernelExplainer(other.decision_function, background)
        begun = time.perf_counter()
        found = explainer.shap_values(rows[:1], silent=True)  # the time of one row, for all
        seconds = EXPLAINED * (time.perf_counter() - begun)
        error = np.abs(found - values[:1]).max() / np.abs(values[:1]).max()
        lines.append([f"KernelExplainer, SVC of {name}", f"{seconds:.2g}", f"{error:.1%}"])
    return markdown(["", f"seconds, {len(model.support_):,} support vectors", "error"], lines)


PARTS: dict[str, Callable[[int], str]] = {
    "one-row": one_row,
    "compaction": compaction,
    "explanation": explanation,
}
