"""The native core as its tests call it: rows in every storage, kernels by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from conftest import TOL
from reference import kernels
from widestreet import _core

# Rows have |x|^2 about 1: gamma |x|^2, which the tolerances are relative to, stays near 1.
PARAMS: dict[str, dict[str, float]] = {
    "linear": {},
    "rbf": {"gamma": 0.7},
    "poly": {"gamma": 0.6, "coef0": 0.5, "degree": 3},
    "sigmoid": {"gamma": 0.8, "coef0": -0.3},
    "laplacian": {"gamma": 0.2},
}


def kernel(name: str, *, gamma: float = 1.0, coef0: float = 0.0, degree: int = 3) -> _core.Kernel:
    return _core.Kernel(getattr(_core.KernelKind, name), gamma, coef0, degree)


# -- rows --------------------------------------------------------------------------------------


def _every_other_row(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * len(X), X.shape[1]), np.nan)
    wide[::2] = X
    return wide[::2]


def _every_third_column(X: np.ndarray) -> np.ndarray:
    wide = np.full((len(X), 3 * X.shape[1]), np.nan, dtype=np.float32)
    wide[:, ::3] = X
    return wide[:, ::3]


def _window(X: np.ndarray) -> np.ndarray:
    frame = np.full((len(X) + 2, X.shape[1] + 3), np.nan, order="F")
    frame[1:-1, 2:-1] = X
    return frame[1:-1, 2:-1]


def _reversed(X: np.ndarray) -> np.ndarray:
    return X[::-1].copy()[::-1]


def _csr(X: np.ndarray, index: Any, value: Any) -> sparse.csr_matrix:
    csr = sparse.csr_matrix(X.astype(value))
    csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
    return csr


def _explicit_zeros(X: np.ndarray) -> sparse.csr_matrix:
    """A CSR matrix that stores every other zero of X."""
    stored = (X != 0) | (np.indices(X.shape).sum(axis=0) % 2 == 0)
    row, column = np.nonzero(stored)
    indptr = np.append(0, np.cumsum(stored.sum(axis=1)))
    return sparse.csr_matrix((X[row, column], column, indptr), shape=X.shape)


@dataclass(frozen=True)
class MostlyZero:
    """A dense array of whose rows only the nonzeros are to be looked at."""

    values: np.ndarray

    def __getitem__(self, part: slice) -> MostlyZero:
        return MostlyZero(self.values[part])


DENSE: dict[str, Callable[[np.ndarray], Any]] = {
    "C float64": np.ascontiguousarray,
    "F float64": np.asfortranarray,
    "C float32": lambda X: X.astype(np.float32),
    "F float32": lambda X: np.asfortranarray(X, dtype=np.float32),
    "every other row": _every_other_row,
    "every third column": _every_third_column,
    "window": _window,
    "reversed": _reversed,
}
MOSTLY_ZERO: dict[str, Callable[[np.ndarray], Any]] = {
    "mostly zero float64": lambda X: MostlyZero(np.ascontiguousarray(X)),
    "mostly zero float32": lambda X: MostlyZero(np.asfortranarray(X, dtype=np.float32)),
}
CSR: dict[str, Callable[[np.ndarray], Any]] = {
    "csr int32 float64": lambda X: _csr(X, np.int32, np.float64),
    "csr int64 float64": lambda X: _csr(X, np.int64, np.float64),
    "csr int32 float32": lambda X: _csr(X, np.int32, np.float32),
    "csr int64 float32": lambda X: _csr(X, np.int64, np.float32),
    "csr explicit zeros": _explicit_zeros,
}
STORAGES = DENSE | MOSTLY_ZERO | CSR


def rows(X: Any, centre: np.ndarray | None = None) -> _core.Rows:
    """The native view of a dense array or a CSR matrix."""
    if isinstance(X, MostlyZero):
        return _core.Rows.dense(X.values, None, True)
    if sparse.issparse(X):
        return _core.Rows.csr(X.data, X.indices, X.indptr, *X.shape)
    return _core.Rows.dense(X, centre)


@cache
def sample(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Half-empty rows that float32 holds exactly, |x|^2 about 1; the second one is all zeros."""
    rng = np.random.default_rng([n, d, seed])
    X = np.clip(rng.normal(size=(n, d)), -2, 2)
    X[rng.random((n, d)) < 0.5] = 0.0
    X[1:2] = 0.0
    return _held_by_float32(X * np.sqrt(2 / d))


@cache
def wide_sample(n: int, d: int = 400, seed: int = 0) -> np.ndarray:
    """Rows with one entry in a hundred columns, of which many share one: the inverted panel."""
    rng = np.random.default_rng([n, d, seed])
    X = np.zeros((n, d))
    for row in X:
        row[rng.choice(d // 4, d // 100, replace=False)] = rng.normal(size=d // 100)
    X[1:2] = 0.0
    assert n < 2 or (X != 0).mean() < 0.03
    return _held_by_float32(X * np.sqrt(100 / d))


def _held_by_float32(X: np.ndarray) -> np.ndarray:
    X = X.astype(np.float32).astype(np.float64)
    X.flags.writeable = False
    return X


# -- values and their error --------------------------------------------------------------------


def tile(k: _core.Kernel, left: Any, right: Any, shape: tuple[int, int], dtype: Any, **options):
    """K[I, J] as a fresh array; options: left_index, right_index, threads."""
    out = np.full(shape, np.nan, dtype=dtype)
    _core.tile(
        k,
        left,
        options.get("left_index"),
        right,
        options.get("right_index"),
        out,
        None,
        options.get("threads", 1),
    )
    return out


def scan(
    k: _core.Kernel, left: Any, right: Any, coef: np.ndarray, out: np.ndarray, dtype, **options
):
    """Add K[I, J] @ coef to a copy of `out`, or row by row of both, if they have rows.

    Options: left_index, right_index, threads.
    """
    out = np.pad(out, [(0, 0)] * (out.ndim - 1) + [(2, 3)])[..., 2:-3]  # part of a wider array
    _core.scan(
        k,
        left,
        options.get("left_index"),
        right,
        options.get("right_index"),
        np.atleast_2d(coef),
        np.atleast_2d(out),
        dtype == np.float64,
        options.get("threads", 1),
    )
    return out


def assert_kernel(found: np.ndarray, K: np.ndarray, dtype: Any, context: Any = "") -> None:
    """Values as exact as TOL promises for their precision, relative to max(1, |K|)."""
    allowed = TOL.kernel_float64 if dtype == np.float64 else TOL.kernel_float32
    assert found.shape == K.shape, context
    wrong = ~(np.abs(found - K) <= allowed * np.maximum(1, np.abs(K)))
    assert not wrong.any(), (context, np.argwhere(wrong)[:5], found[wrong][:5], K[wrong][:5])


def assert_scan(found, K: np.ndarray, coef, dtype: Any, context: Any = "", before: Any = 0) -> None:
    """Sums as exact as TOL promises, relative to sum |coef| max(1, |K|) and what was there."""
    allowed = TOL.scan_float64 if dtype == np.float64 else TOL.scan_float32
    scale = np.maximum(1, np.abs(K)) @ np.abs(coef) + np.abs(before)
    wrong = ~(np.abs(found - before - K @ coef) <= allowed * scale)
    assert not wrong.any(), (context, np.flatnonzero(wrong)[:5], found[wrong][:5])


@cache
def expected(name: str, family: Callable[[int, int], np.ndarray], m: int, n: int, d: int):
    """Reference values between the m rows of seed 0 and the n rows of seed 1."""
    return kernels.matrix(name, family(m, d, 0), family(n, d, 1), **PARAMS[name])
