"""Values that are malformed, or look as if they were: rows, targets, weights, parameters."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

import widestreet as ws
from fuzz import storages

# -- rows --------------------------------------------------------------------------------------


def _entry(value: Any, dtype: Any = np.float64) -> Callable[..., Any]:
    def change(X, rng):
        X = X.astype(dtype)
        X[int(rng.integers(len(X))), int(rng.integers(X.shape[1]))] = value
        return X

    return change


def _csr(**arrays: Callable[..., Any]) -> Callable[..., Any]:
    """A CSR matrix some of whose arrays are replaced without any check."""

    def change(X, rng):
        csr = sparse.csr_matrix(X)
        if rng.random() < 0.5:
            csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
        for name, replace in arrays.items():
            vars(csr)[name] = replace(getattr(csr, name).copy(), rng, csr.shape)
        return csr

    return change


def _set(at: int, value: Any) -> Callable[..., Any]:
    def change(array, rng, shape):
        array[at] = value(shape) if callable(value) else value
        return array

    return change


def _far_columns(X, rng):
    """Columns beyond 2^31, with int64 indices."""
    csr = sparse.csr_matrix(X)
    indices = csr.indices.astype(np.int64) + (1 << int(rng.integers(31, 40)))
    indptr = csr.indptr.astype(np.int64)
    return sparse.csr_matrix((csr.data, indices, indptr), shape=(X.shape[0], 1 << 41))


def _unaligned(X, rng):
    return np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(X.dtype).reshape(X.shape)


def _other_index(array, rng, shape):
    return array.astype(np.int64 if array.dtype == np.int32 else np.int32)


def _record(X, rng):
    return np.rec.fromarrays(X.T)


class Duck:
    """Something that only looks like an array."""

    shape = (20, 3)
    dtype = np.dtype(float)

    def __len__(self) -> int:
        return 20


ROWS: dict[str, Callable[..., Any]] = {
    **{f"stored as {name}": (lambda X, rng, f=f: f(X)) for name, f in storages.DENSE.items()},
    **{f"stored as {name}": (lambda X, rng, f=f: f(X)) for name, f in storages.SPARSE.items()},
    **{
        f"as {name}": (lambda X, rng, name=name: getattr(sparse, f"{name}_matrix")(X))
        for name in ("bsr", "dia", "dok", "lil")
    },
    "NaN": _entry(np.nan),
    "infinity": _entry(-np.inf),
    "largest": _entry(np.finfo(np.float64).max),
    "1e200": _entry(1e200),
    "1e19": _entry(1e19),
    "1e17": _entry(1e17),
    "denormal": _entry(5e-324),
    "all denormal": lambda X, rng: X * 1e-310,
    "all tiny": lambda X, rng: X * 1e-160,
    "all huge": lambda X, rng: X * 1e17,
    "largest float32": _entry(np.finfo(np.float32).max, np.float32),
    "denormal float32": lambda X, rng: (X * 1e-40).astype(np.float32),
    "float16": lambda X, rng: X.astype(np.float16),
    "long double": lambda X, rng: X.astype(np.longdouble),
    "long double beyond": lambda X, rng: X.astype(np.longdouble) * np.longdouble("1e400"),
    "int8": lambda X, rng: (3 * X).astype(np.int8),
    "uint64": lambda X, rng: np.abs(X * 1e18).astype(np.uint64),
    "bool": lambda X, rng: X > 0,
    "complex": lambda X, rng: X + 1j,
    "text": lambda X, rng: X.astype(str),
    "words": lambda X, rng: np.full(X.shape, "word"),
    "bytes": lambda X, rng: X.astype("S"),
    "dates": lambda X, rng: np.full(X.shape, np.datetime64("2020-01-01")),
    "durations": lambda X, rng: np.full(X.shape, np.timedelta64(1, "s")),
    "not a time": lambda X, rng: np.full(X.shape, np.datetime64("NaT")),
    "objects": lambda X, rng: X.astype(object),
    "dicts": lambda X, rng: np.full(X.shape, {}, dtype=object),
    "None inside": lambda X, rng: np.where(X > 1, None, X.astype(object)),
    "fractions": lambda X, rng: np.full(X.shape, Fraction(1, 3), dtype=object),
    "decimals": lambda X, rng: np.full(X.shape, Decimal("0.1"), dtype=object),
    "large integers": lambda X, rng: np.full(X.shape, 10**400, dtype=object),
    "dates as objects": lambda X, rng: np.full(X.shape, datetime(2020, 1, 1), dtype=object),
    "mixed": lambda X, rng: [[1.0, "a", None]] * len(X),
    "matrix": lambda X, rng: np.matrix(X),
    "masked": lambda X, rng: np.ma.masked_array(X, mask=X > 1),
    "records": _record,
    "structured": lambda X, rng: np.zeros(len(X), dtype=[("a", float), ("b", "S3")]),
    "lists": lambda X, rng: X.tolist(),
    "ragged": lambda X, rng: [row[: 1 + i % 3] for i, row in enumerate(X.tolist())],
    "nothing": lambda X, rng: None,
    "a number": lambda X, rng: 3.0,
    "a word": lambda X, rng: "rows",
    "a dict": lambda X, rng: {"a": X[:, 0]},
    "a set": lambda X, rng: {1, 2, 3},
    "a generator": lambda X, rng: (row for row in X),
    "a function": lambda X, rng: print,
    "a duck": lambda X, rng: Duck(),
    "a class": lambda X, rng: Duck,
    "0-d": lambda X, rng: np.array(3.0),
    "1-d": lambda X, rng: X[:, 0],
    "3-d": lambda X, rng: X[:, :, None],
    "no rows": lambda X, rng: X[:0],
    "no columns": lambda X, rng: X[:, :0],
    "no rows, CSR": lambda X, rng: sparse.csr_matrix(X[:0]),
    "no columns, CSR": lambda X, rng: sparse.csr_matrix(X[:, :0]),
    "one row": lambda X, rng: X[:1],
    "too few rows": lambda X, rng: X[:-1],
    "too many rows": lambda X, rng: np.vstack([X, X]),
    "more columns": lambda X, rng: np.hstack([X, X]),
    "constant": lambda X, rng: np.zeros_like(X),
    "broadcast": lambda X, rng: np.broadcast_to(X[0], X.shape),
    "overlapping": lambda X, rng: np.lib.stride_tricks.as_strided(X, X.shape, (8, 8)),
    "other byte order": lambda X, rng: X.astype(">f8"),
    "unaligned": _unaligned,
    "frame of words": lambda X, rng: storages.DENSE["pandas"](X.astype(str)),
    "frame of dates": lambda X, rng: storages.DENSE["pandas"](X.astype("M8[ns]")),
    "frame, categories": lambda X, rng: storages.DENSE["pandas"](X.round()).astype("category"),
    "frame, missing": lambda X, rng: storages.DENSE["pandas"](X).where(X < 1).astype("Float64"),
    "polars words": lambda X, rng: storages.DENSE["polars"](X).cast(str),
    "CSR of integers": lambda X, rng: sparse.csr_matrix(X.astype(np.int32)),
    "CSR of bools": lambda X, rng: sparse.csr_matrix(X > 0),
    "CSR of complex": lambda X, rng: sparse.csr_matrix(X * 1j),
    "CSR with NaN": lambda X, rng: sparse.csr_matrix(_entry(np.nan)(X, rng)),
    "column out of range": _csr(indices=_set(0, lambda shape: shape[1])),
    "column far out of range": _csr(indices=_set(-1, 1 << 30)),
    "negative column": _csr(indices=_set(0, -1)),
    "very negative column": _csr(indices=_set(1, -(1 << 31))),
    "indptr falls": _csr(indptr=_set(2, 0)),
    "indptr negative": _csr(indptr=_set(1, -5)),
    "indptr too large": _csr(indptr=_set(-1, 1 << 20)),
    "indptr starts late": _csr(indptr=_set(0, 1)),
    "indptr too short": _csr(indptr=lambda a, rng, shape: a[:-1]),
    "indptr too long": _csr(indptr=lambda a, rng, shape: np.append(a, a[-1])),
    "indices too short": _csr(indices=lambda a, rng, shape: a[:-4]),
    "data too short": _csr(data=lambda a, rng, shape: a[:-4]),
    "data too long": _csr(data=lambda a, rng, shape: np.append(a, [1.0, 2.0])),
    "indices of floats": _csr(indices=lambda a, rng, shape: a.astype(float)),
    "indices of int16": _csr(indices=lambda a, rng, shape: a.astype(np.int16)),
    "mixed index types": _csr(indptr=_other_index),
    "columns in any order": _csr(indices=lambda a, rng, shape: rng.permuted(a)),
    "columns repeated": _csr(indices=lambda a, rng, shape: np.zeros_like(a)),
    "strided CSR": _csr(data=lambda a, rng, shape: np.repeat(a, 2)[::2]),
    "columns beyond 2^31": _far_columns,
}  # fmt: skip

TARGETS: dict[str, Callable[..., Any]] = {
    "nothing": lambda y, rng: None,
    "NaN": lambda y, rng: np.where(np.arange(len(y)) == 3, np.nan, y),
    "infinity": lambda y, rng: np.where(np.arange(len(y)) == 3, np.inf, y),
    "huge": lambda y, rng: y * 1e300,
    "denormal": lambda y, rng: y * 1e-310,
    "complex": lambda y, rng: y * 1j,
    "too few": lambda y, rng: y[:-1],
    "too many": lambda y, rng: np.append(y, y),
    "none": lambda y, rng: y[:0],
    "one class": lambda y, rng: np.zeros_like(y),
    "a class each": lambda y, rng: np.arange(len(y)),
    "column": lambda y, rng: y[:, None],
    "two columns": lambda y, rng: np.stack([y, y], axis=1),
    "3-d": lambda y, rng: y[:, None, None],
    "a number": lambda y, rng: 1.0,
    "a word": lambda y, rng: "yes",
    "words": lambda y, rng: np.where(y > 0, "yes", "no"),
    "bytes": lambda y, rng: np.where(y > 0, b"yes", b"no"),
    "bools": lambda y, rng: y > 0,
    "objects": lambda y, rng: np.where(y > 0, "yes", "no").astype(object),
    "mixed": lambda y, rng: ["yes" if v > 0 else 0 for v in y],
    "None inside": lambda y, rng: [None if v > 0 else 0 for v in y],
    "dicts": lambda y, rng: [{}] * len(y),
    "lists": lambda y, rng: [[1, 2], [3]] * (len(y) // 2),
    "dates": lambda y, rng: np.array(["2020-01-01", "2021-01-01"] * (len(y) // 2), "datetime64[D]"),
    "fractions": lambda y, rng: [Fraction(int(v > 0), 3) for v in y],
    "large integers": lambda y, rng: np.array([10**400 * int(v > 0) for v in y], dtype=object),
    "int64 limits": lambda y, rng: np.where(y > 0, np.iinfo(np.int64).max, np.iinfo(np.int64).min),
    "continuous": lambda y, rng: rng.normal(size=len(y)),
    "sparse": lambda y, rng: sparse.csr_matrix(y[:, None].astype(float)),
    "masked": lambda y, rng: np.ma.masked_array(y, mask=y > 0),
    "matrix": lambda y, rng: np.matrix(y).T,
    "reversed": lambda y, rng: y[::-1],
    "read only": lambda y, rng: np.broadcast_to(y[0], y.shape),
    "float16": lambda y, rng: y.astype(np.float16),
    "long double": lambda y, rng: y.astype(np.longdouble),
    "a frame": lambda y, rng: storages.DENSE["pandas"](y[:, None]),
}

WEIGHTS: dict[str, Callable[..., Any]] = {
    "negative": lambda n, rng: np.where(np.arange(n) == 3, -1e-9, 1.0),
    "NaN": lambda n, rng: np.where(np.arange(n) == 3, np.nan, 1.0),
    "infinite": lambda n, rng: np.where(np.arange(n) == 3, np.inf, 1.0),
    "overflowing": lambda n, rng: np.full(n, 1e308),
    "huge": lambda n, rng: np.full(n, 1e150),
    "denormal": lambda n, rng: np.full(n, 5e-324),
    "far apart": lambda n, rng: 10.0 ** rng.uniform(-200, 200, n),
    "zero": lambda n, rng: np.zeros(n),
    "mostly zero": lambda n, rng: (np.arange(n) < 2).astype(float),
    "too few": lambda n, rng: np.ones(n - 1),
    "too many": lambda n, rng: np.ones(n + 1),
    "none": lambda n, rng: np.ones(0),
    "column": lambda n, rng: np.ones((n, 1)),
    "words": lambda n, rng: ["heavy"] * n,
    "complex": lambda n, rng: np.ones(n) * 1j,
    "dates": lambda n, rng: np.full(n, np.datetime64("2020-01-01")),
    "objects": lambda n, rng: np.full(n, {}, dtype=object),
    "None inside": lambda n, rng: [None] * n,
    "ragged": lambda n, rng: [[1.0], [1.0, 2.0]] * (n // 2),
    "a number": lambda n, rng: 2.0,
    "a negative number": lambda n, rng: -1.0,
    "a word": lambda n, rng: "balanced",
    "a dict": lambda n, rng: {0: 1.0},
    "bools": lambda n, rng: np.arange(n) % 3 > 0,
    "large integers": lambda n, rng: [10**400] * n,
    "fractions": lambda n, rng: [Fraction(1, 3)] * n,
    "masked": lambda n, rng: np.ma.masked_array(np.ones(n), mask=np.arange(n) == 3),
    "sparse": lambda n, rng: sparse.csr_matrix(np.ones((n, 1))),
    "read only": lambda n, rng: np.broadcast_to(1.0, n),
}

# -- parameters --------------------------------------------------------------------------------

ANYTHING: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 1.5, -2.5, 1e-300, 1e300, 10**400, -(10**400),
    float("nan"), float("inf"), -float("inf"), 1j, "", "auto", "scale", "word", b"bytes", [], [1.0],
    (), {}, {0: 1.0}, {"a": "b"},
    {0: 1e300, 1: 1e-300}, {0: -1.0}, {0: 10**400}, set(), print, ws.SVC, object(), np.float32(0.5),
    np.int8(3), np.array(1.0), np.array([1.0, 2.0]), np.datetime64("2020-01-01"), Fraction(1, 2),
    Decimal("0.5"), "1GB", "-1GB", "1e400GB", "nanGB", np.random.default_rng(0), np.bool_(True),
)  # fmt: skip

BAD_KERNELS: tuple[Callable[..., Any], ...] = (
    lambda A, B: A @ A.T,
    lambda A, B: np.ones(len(A)),
    lambda A, B: None,
    lambda A, B: np.full((len(A), len(B)), np.nan),
    lambda A, B: np.full((len(A), len(B)), 1e308),
    lambda A, B: np.full((len(A), len(B)), 1e-310),
    lambda A, B: (A @ B.T) * 1j,
    lambda A, B: np.full((len(A), len(B)), "x"),
    lambda A, B: sparse.csr_matrix(A @ B.T),
    lambda A, B: -(A @ B.T),
    lambda A, B: A @ B.T + 3.0 * A.sum(axis=1)[:, None],
    lambda A, B: (A @ B.T).tolist(),
    lambda A, B: (A @ B.T).astype(np.float16),
    lambda A, B: np.zeros((len(A), len(B))),
)
