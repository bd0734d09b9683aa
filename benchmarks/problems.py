"""The problems of the fits: data, kernels and parameters."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import normalize

from widestreet import datasets

PREDICTED = 100_000  # rows whose prediction is timed


@dataclass(frozen=True)
class Problem:
    """A generator with a kernel and its parameters."""

    name: str
    make: Callable[..., Any]
    task: str
    gamma: float
    C: float
    epsilon: float = 0.0
    kernel: str = "rbf"

    def data(self, rows: int, dtype: str) -> tuple[Any, Any]:
        X, y = self.make(rows, random_state=7)
        return X.astype(dtype), y

    def small(self, dtype: str) -> tuple[Any, Any]:
        """Other data, to warm up."""
        X, y = self.make(2000, random_state=1)
        return X.astype(dtype), y

    def unseen(self, dtype: str) -> tuple[Any, Any]:
        """Data to predict."""
        X, y = self.make(PREDICTED, random_state=8)
        return X.astype(dtype), y

    def parameters(self) -> dict[str, Any]:
        parameters = {"kernel": self.kernel, "gamma": self.gamma, "C": self.C, "tol": 1e-3}
        if self.task == "svr":
            parameters["epsilon"] = self.epsilon
        return parameters


@dataclass(frozen=True)
class Real(Problem):
    """Real data: `make` returns training and test rows, and takes no arguments."""

    def data(self, rows: int, dtype: str) -> tuple[Any, Any]:
        X, y, _, _ = self.make()
        return X.astype(dtype), y

    def small(self, dtype: str) -> tuple[Any, Any]:
        X, y = self.data(0, dtype)
        return X[::50], y[::50]

    def unseen(self, dtype: str) -> tuple[Any, Any]:
        _, _, X, y = self.make()
        return X.astype(dtype), y


def _directory() -> Path:
    """Where real data lies: WIDESTREET_DATA."""
    if "WIDESTREET_DATA" not in os.environ:
        raise SystemExit("set WIDESTREET_DATA to the directory with the real data sets")
    return Path(os.environ["WIDESTREET_DATA"])


def _images(path: Path) -> Any:
    """An array in the idx format of MNIST."""
    raw = gzip.decompress(path.read_bytes())
    shape = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def mnist() -> tuple[Any, Any, Any, Any]:
    """60,000 and 10,000 handwritten digits, 784 pixels from 0 to 1."""
    found = []
    for part in ("train", "t10k"):
        folder = _directory() / "images"
        X = _images(folder / f"mnist-{part}-images-idx3-ubyte.gz")
        y = _images(folder / f"mnist-{part}-labels-idx1-ubyte.gz")
        found += [X.reshape(len(X), -1) / 255.0, y.astype(np.int64)]
    return found[0], found[1], found[2], found[3]


def news20() -> tuple[Any, Any, Any, Any]:
    """15,935 news articles of 20 groups, 62,061 words; each row of length one."""
    with bz2.open(_directory() / "libsvm" / "news20.bz2") as file:
        X, y = load_svmlight_file(file)
    X = normalize(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y, X[:2000], y[:2000]


GENERATED = {
    p.name: p
    for p in (
        Problem("checkerboard", datasets.checkerboard, "svc", gamma=2.0, C=100.0),
        Problem("twonorm", datasets.twonorm, "svc", gamma=0.05, C=1.0),
        Problem("ringnorm", datasets.ringnorm, "svc", gamma=0.05, C=1.0),
        Problem("friedman", datasets.friedman, "svr", gamma=0.5, C=10.0, epsilon=1.0),
    )
}
REAL = {
    p.name: p
    for p in (
        Real("mnist", mnist, "svc", gamma=0.02, C=10.0),
        Real("news20-linear", news20, "svc", gamma=1.0, C=1.0, kernel="linear"),
        Real("news20-rbf", news20, "svc", gamma=1.0, C=1.0),
    )
}
PROBLEMS = GENERATED | REAL
