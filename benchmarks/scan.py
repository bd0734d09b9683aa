"""The fused scan against the NumPy expression that it replaces, blocks of 2,048 rows, float32."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from widestreet import _core
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import as_rows
from widestreet._src.threads import resolve_threads

ROWS, VECTORS, BLOCK, REPEATS = 40960, 2048, 2048, 7


def numpy_scan(X: Any, S: Any, coef: Any, gamma: Any) -> Any:
    xx, ss = (X * X).sum(axis=1)[:, None], (S * S).sum(axis=1)
    out = np.empty(len(X), dtype=X.dtype)
    for a in range(0, len(X), BLOCK):
        x = X[a : a + BLOCK]
        out[a : a + BLOCK] = np.exp(-gamma * (xx[a : a + BLOCK] + ss - 2 * x @ S.T)) @ coef
    return out


def seconds(function: Any) -> float:
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def run() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    records = []
    for d in (2, 20, 54):
        X = rng.standard_normal((ROWS, d)).astype(np.float32)
        S, coef = X[:VECTORS].copy(), rng.standard_normal(VECTORS)
        gamma = 0.5 / d
        gram = Gram(RBF(gamma), as_rows(X), as_rows(S), threads=resolve_threads(None))
        plain = (X, S, coef.astype(np.float32), np.float32(gamma))
        ours, theirs = [], []
        for _ in range(REPEATS):  # in turn, so that a slow moment of the machine hits both
            ours.append(seconds(lambda: gram.scan(None, None, coef, dtype=np.float32)))  # noqa: B023
            theirs.append(seconds(lambda: numpy_scan(*plain)))  # noqa: B023
        error = np.abs(gram.scan(None, None, coef, dtype=np.float32) - numpy_scan(*plain)).max()
        records.append(
            {
                "d": d,
                "instruction_set": _core.instruction_set(),
                "ratio": min(theirs) / min(ours),
                "median_ratio": float(np.median(np.array(theirs) / np.array(ours))),
                "billion_values_per_second": ROWS * VECTORS / min(ours) / 1e9,
                "largest_difference": float(error),
            }
        )
    return records


def table(records: list[dict[str, Any]]) -> str:
    lines = ["| d | times the NumPy expression | (median) | 1e9 values/s |", "|---|---|---|---|"]
    lines += [
        f"| {r['d']} | {r['ratio']:.1f} | {r['median_ratio']:.1f} | "
        f"{r['billion_values_per_second']:.2f} |"
        for r in records
    ]
    return "\n".join(lines)
