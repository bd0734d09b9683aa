"""Online estimators against refits: one row, a stream, leave-one-out, a path."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn import svm
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from widestreet._experiments.harness import memory
from widestreet._experiments.harness.clock import seconds
from widestreet._experiments.harness.discovery import tasks
from widestreet._experiments.harness.tables import digits, markdown
from widestreet.datasets import friedman, twonorm
from widestreet.online import OnlineNuSVR, OnlineSVC, OnlineSVR

ROWS, ADDED = 5000, 20  # of one row at a time
STREAM, WINDOW = 20_000, 2000
LEFT_OUT, REFITS = 1000, 20  # rows, and refits that tell how long a thousand would take
PATH_ROWS, GRID = 2000, 30
SAME_AS_US = 1e-8  # tolerance of refits that are to be as exact


def cpusmall() -> tuple[Any, Any]:
    """Return standardised cpusmall, or Friedman's function if it is missing."""
    task = tasks()["cpusmall"]
    if task.missing() is not None:
        X, y = friedman(ROWS + ADDED, random_state=0)
        return X, y
    split = task.load(task.rows)
    X, y = np.concatenate([split.X, split.X_test]), np.concatenate([split.y, split.y_test])
    order = np.random.default_rng(0).permutation(len(y))[: ROWS + ADDED]
    return StandardScaler().fit_transform(X[order]), y[order]


def one_row(threads: int) -> str:
    """One more row at 5,000 rows: added, refitted, or refitted with a warm start."""
    X, y = cpusmall()
    common: dict[str, Any] = {"C": 10.0, "nu": 0.3, "gamma": 0.1}
    model = OnlineNuSVR(**common, n_jobs=threads).fit(X[:ROWS], y[:ROWS])
    new = range(ROWS, ROWS + ADDED)
    times = [seconds(model.partial_fit, X[i : i + 1], y[i : i + 1]) for i in new]
    proof = model.verify()
    scale = max(1.0, float(np.abs(y).max()))
    mean, median = float(np.mean(times)), float(np.median(times))
    found = {"partial_fit, mean": mean, "partial_fit, median": median}
    tols = (1e-3, SAME_AS_US * scale)
    for tol in tols:
        theirs = svm.NuSVR(**common, tol=tol, cache_size=2000)
        found[f"scikit-learn NuSVR refit, tol {tol:.0e}"] = seconds(theirs.fit, X, y)
    for tol in tols:
        batch = ws.NuSVR(**common, tol=tol, n_jobs=threads, random_state=0, warm_start=True)
        rows = np.arange(ROWS)
        batch.fit(X[rows], y[rows])
        warm = []
        for i in range(3):  # a warm start needs as many rows as before: replace one
            rows[i] = ROWS + i
            warm.append(seconds(batch.fit, X[rows], y[rows]))
        found[f"widestreet NuSVR, warm, one row replaced, tol {tol:.0e}"] = float(np.median(warm))
    lines = [[what, digits(1e3 * t), digits(t / mean)] for what, t in found.items()]
    note = f"{ROWS:,} rows, {len(model.support_):,} support vectors; certified violation "
    note += f"{proof.kkt_violation:.1e} at targets up to {scale:g}."
    return markdown(["what", "ms", "times partial_fit"], lines) + "\n\n" + note


def stream(threads: int) -> str:
    """Twenty thousand rows through a window of two thousand."""
    X, y = friedman(STREAM + WINDOW, random_state=0)
    X = X * (1 + 0.1 * np.sin(np.arange(len(X)) / 3000))[:, None]  # it drifts
    model = OnlineSVR(C=10.0, epsilon=1.0, gamma=0.5, max_rows=WINDOW, n_jobs=threads)
    model.fit(X[:WINDOW], y[:WINDOW])
    lines = []
    held, begun = memory.begin(), time.perf_counter()
    for i in range(WINDOW, WINDOW + STREAM):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        if (i + 1 - WINDOW) % (STREAM // 5) == 0:
            now, spent = i + 1, time.perf_counter() - begun
            proof, part = model.verify(), slice(now - WINDOW, now)
            refit = ws.SVR(C=10.0, epsilon=1.0, gamma=0.5, tol=1e-10, n_jobs=threads)
            refit.fit(X[part], y[part])
            difference = np.abs(refit.predict(X[part]) - model.predict(X[part])).max()
            line = [f"{now - WINDOW:,}", digits(1e3 * spent / (now - WINDOW))]
            line += [f"{proof.kkt_violation:.1e}", f"{difference:.1e}"]
            lines.append([*line, f"{memory.peak() - held:.0f}"])
    head = ["rows in and out", "ms each", "violation", "difference to a refit", "memory grown, MB"]
    return markdown(head, lines)


def left_out(threads: int) -> str:
    """Leave-one-out on a thousand rows against a thousand refits."""
    lines = []
    svc: dict[str, Any] = {"C": 1.0, "gamma": 0.05}
    svr: dict[str, Any] = {"C": 10.0, "gamma": 0.5}
    cases: list[tuple[str, Any, Any, Any]] = [
        ("SVC, twonorm", twonorm, OnlineSVC(**svc), svm.SVC(**svc)),
        ("SVR, Friedman", friedman, OnlineSVR(epsilon=1.0, **svr), svm.SVR(epsilon=1.0, **svr)),
        ("NuSVR, Friedman", friedman, OnlineNuSVR(nu=0.3, **svr), svm.NuSVR(nu=0.3, **svr)),
    ]
    for name, generate, model, theirs in cases:
        X, y = generate(LEFT_OUT, random_state=0)
        ours = seconds(model.set_params(n_jobs=threads).fit, X, y) + seconds(model.leave_one_out)
        line = [name, digits(ours)]
        for tol in (1e-3, SAME_AS_US):
            kept = [np.arange(LEFT_OUT) != i for i in range(REFITS)]
            refits = sum(seconds(theirs.set_params(tol=tol).fit, X[k], y[k]) for k in kept)
            every = refits * LEFT_OUT / REFITS
            line.append(f"{digits(every)} ({digits(every / ours)})")
        lines.append(line)
    head = ["what", "ours, fit included, s", "1,000 refits, tol 1e-3, s (times ours)"]
    return markdown([*head, "the same, tol 1e-8"], lines)


def path(threads: int) -> str:
    """Three decades of C on two thousand rows against a grid of refits."""
    X, y = twonorm(PATH_ROWS, random_state=0)
    values = np.geomspace(0.1, 100.0, GRID)
    begun = time.perf_counter()
    found = ws.regularization_path(X, y, gamma=0.05, C_min=0.1, C_max=100.0, n_jobs=threads)
    ours = time.perf_counter() - begun
    lines = [["regularization_path", digits(ours), "1", f"{len(found.breakpoints):,}"]]
    libraries: dict[str, Any] = {
        "scikit-learn": partial(svm.SVC, gamma=0.05),
        "widestreet": partial(ws.SVC, gamma=0.05, n_jobs=threads, random_state=0),
    }
    for tol in (1e-3, SAME_AS_US):
        for name, make in libraries.items():
            grid = sum(seconds(make(C=C, tol=tol).fit, X, y) for C in values)
            what = f"{name}, {GRID} refits, tol {tol:.0e}"
            lines.append([what, digits(grid), digits(grid / ours), f"{GRID}"])
    worst = max(found.model_at(C).certificate_.kkt_violation for C in values)
    note = f"Largest certified violation of the path's models at these {GRID} values: {worst:.1e}."
    return markdown(["what", "s", "times the path", "solutions"], lines) + "\n\n" + note


PARTS: dict[str, Callable[[int], str]] = {
    "one-row": one_row,
    "stream": stream,
    "leave-one-out": left_out,
    "path": path,
}
