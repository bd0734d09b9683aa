"""Small data: fifty problems of 100 to 2,000 rows, and what it takes to import the package."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import datasets, svm

import widestreet as ws

SIZES = (100, 150, 200, 300, 400, 600, 800, 1000, 1500, 2000)
LEAST_FITS, LEAST_SECONDS = 7, 0.3  # of each library and problem
QUERY_ROWS = 10  # predicted at a time
IMPORTS = 5
MODULES = ("widestreet", "sklearn.svm")

_IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


@dataclass(frozen=True)
class Problem:
    """An estimator with its parameters, and what it is fitted to."""

    estimator: str
    data: str
    rows: int
    columns: int
    parameters: dict[str, Any]

    def load(self) -> tuple[Any, Any]:
        """Standardised rows and their targets, always the same."""
        X, y = DATA[self.data](self.rows, self.columns)
        return (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-12), y

    @property
    def name(self) -> str:
        parameters = ", ".join(f"{k} {v}" for k, v in self.parameters.items())
        return f"{self.estimator}, {self.data}, {self.rows:,} x {self.columns}, {parameters}"


def _classes(count: int, noise: float, apart: float) -> Callable[[int, int], tuple[Any, Any]]:
    """What makes rows of `count` classes, some labels of which are wrong."""

    def make(rows: int, columns: int) -> tuple[Any, Any]:
        found: tuple[Any, Any] = datasets.make_classification(
            rows,
            columns,
            n_informative=max(2, columns // 2),
            n_redundant=0,
            n_classes=count,
            n_clusters_per_class=1,
            flip_y=noise,
            class_sep=apart,
            random_state=0,
        )
        return found

    return make


def _tiny_classes(rows: int, columns: int) -> tuple[Any, Any]:
    """As many classes as there are dozens of rows, up to fifty."""
    centres = min(50, rows // 12)
    X, y = datasets.make_blobs(
        rows, columns, centers=centres, cluster_std=2.0, random_state=0, return_centers=False
    )
    return X, y


def _board(rows: int, columns: int) -> tuple[Any, Any]:
    """A checkerboard in the first two of the columns."""
    X = np.random.default_rng(0).random((rows, columns))
    return X, (np.floor(4 * X[:, 0]) + np.floor(4 * X[:, 1])) % 2


def _wave(rows: int, columns: int) -> tuple[Any, Any]:
    """A sine of the sum of all columns, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    return X, np.sin(2 * X.sum(axis=1) / np.sqrt(columns)) + 0.1 * rng.normal(size=rows)


def _friedman(rows: int, columns: int) -> tuple[Any, Any]:
    found: tuple[Any, Any] = datasets.make_friedman1(rows, columns, noise=1.0, random_state=0)
    return found


DATA: dict[str, Callable[[int, int], tuple[Any, Any]]] = {
    "two classes": _classes(2, 0.02, 1.0),
    "noisy classes": _classes(2, 0.2, 0.5),
    "four classes": _classes(4, 0.02, 1.0),
    "tiny classes": _tiny_classes,
    "checkerboard": _board,
    "wave": _wave,
    "Friedman": _friedman,
}

# Estimator, data, columns, parameters: each line at every other size.
_KINDS: tuple[tuple[str, str, int, dict[str, Any]], ...] = (
    ("SVC", "two classes", 10, {"C": 1.0}),
    ("SVC", "noisy classes", 20, {"C": 10.0}),
    ("SVC", "four classes", 8, {"C": 1.0}),
    ("SVC", "tiny classes", 5, {"C": 10.0}),
    ("SVR", "Friedman", 10, {"C": 10.0, "epsilon": 1.0}),
    ("SVR", "wave", 2, {"C": 1.0, "gamma": 1.0}),
    ("SVC", "checkerboard", 2, {"C": 100.0, "gamma": 2.0}),
    ("SVC", "two classes", 50, {"kernel": "linear", "C": 0.1}),
    ("NuSVC", "noisy classes", 10, {"nu": 0.6}),
    ("OneClassSVM", "wave", 10, {"nu": 0.1}),
    ("NuSVR", "Friedman", 10, {"C": 10.0}),
    ("SVR", "Friedman", 30, {"kernel": "linear", "C": 0.1}),
)


def problems() -> list[Problem]:
    """Five kinds at each of ten sizes; the next size goes on where the last one ended."""
    found = []
    for k in range(5 * len(SIZES)):
        estimator, data, columns, parameters = _KINDS[k % len(_KINDS)]
        found.append(Problem(estimator, data, SIZES[k // 5], columns, parameters))
    return found


def _seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _alternating(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Median seconds of both, done in turns."""
    ours()
    theirs()
    times: list[tuple[float, float]] = []
    while len(times) < LEAST_FITS or sum(map(sum, times)) < LEAST_SECONDS:
        times.append((_seconds(ours), _seconds(theirs)))
    mine, other = zip(*times, strict=True)
    return statistics.median(mine), statistics.median(other)


def measure(problem: Problem) -> dict[str, Any]:
    """Fit both, and predict a few rows with both."""
    X, y = problem.load()
    ours = getattr(ws, problem.estimator)(random_state=0, **problem.parameters)
    theirs = getattr(svm, problem.estimator)(**problem.parameters)
    fit = _alternating(lambda: ours.fit(X, y), lambda: theirs.fit(X, y))
    few = X[:QUERY_ROWS]
    predict = _alternating(lambda: ours.predict(few), lambda: theirs.predict(few))
    return {
        "problem": problem.name,
        "rows": problem.rows,
        "status": ours.certificate_.status,
        "support": [len(ours.support_), len(theirs.support_)],
        "fit": list(fit),
        "predict": list(predict),
    }


def imports() -> dict[str, list[float]]:
    """Seconds that each module takes to import in a fresh process, in turns."""
    times: dict[str, list[float]] = {module: [] for module in MODULES}
    for _ in range(IMPORTS):
        for module, found in times.items():
            command = [sys.executable, "-c", _IMPORT.format(module)]
            found.append(float(subprocess.run(command, capture_output=True, check=True).stdout))
    return times


def run() -> list[dict[str, Any]]:
    warnings.simplefilter("ignore")
    records = [measure(problem) for problem in problems()]
    return [*records, {"imports": imports()}]


def _ratio(record: dict[str, Any], what: str) -> float:
    ours, theirs = record[what]
    return float(ours / theirs)


def _summary(fits: list[dict[str, Any]], what: str) -> str:
    ratios = sorted(_ratio(r, what) for r in fits)
    return (
        f"{what}: median ratio {statistics.median(ratios):.2f}, from {ratios[0]:.2f} to "
        f"{ratios[-1]:.2f}; {sum(ratio <= 1 for ratio in ratios)} of {len(ratios)} no slower"
    )


def table(records: list[dict[str, Any]]) -> str:
    fits = [r for r in records if "fit" in r]
    lines = [
        "| problem | status | SVs: ours, theirs | fit, ms: ours, theirs | ratio "
        f"| predict {QUERY_ROWS} rows, ms: ours, theirs | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in fits:
        cells = [r["problem"], r["status"], "{}, {}".format(*r["support"])]
        for what in ("fit", "predict"):
            ours, theirs = (1e3 * seconds for seconds in r[what])
            cells += [f"{ours:.2f}, {theirs:.2f}", f"{_ratio(r, what):.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", _summary(fits, "fit"), _summary(fits, "predict")]
    for times in (r["imports"] for r in records if "imports" in r):
        ours, theirs = (statistics.median(times[module]) for module in MODULES)
        lines.append(
            f"import: {ours:.2f} s, {MODULES[1]} {theirs:.2f} s, ratio {ours / theirs:.2f} "
            f"({IMPORTS} processes each)"
        )
    return "\n".join(lines)
