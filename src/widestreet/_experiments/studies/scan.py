"""The fused scan against the NumPy expression that it replaces, blocks of 2,048 rows, float32."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from widestreet import _core
from widestreet._experiments.harness.clock import seconds
from widestreet._experiments.harness.tables import markdown
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


def fused(threads: int) -> str:
    """Return a table of ratios of the times, for several numbers of columns."""
    rng = np.random.default_rng(0)
    lines = []
    for d in (4, 20, 54):  # rows with fewer features are interpolated
        X = rng.standard_normal((ROWS, d)).astype(np.float32)
        S, coef = X[:VECTORS].copy(), rng.standard_normal(VECTORS)
        gamma = 0.5 / d
        gram = Gram(RBF(gamma), as_rows(X), as_rows(S), threads=resolve_threads(threads))
        ours = partial(gram.scan, None, None, coef, dtype=np.float32)
        theirs = partial(numpy_scan, X, S, coef.astype(np.float32), np.float32(gamma))
        # in turn, so that a slow moment of the machine hits both
        fast, slow = np.array([(seconds(ours), seconds(theirs)) for _ in range(REPEATS)]).T
        error = np.abs(ours() - theirs()).max()
        ratios = [slow.min() / fast.min(), np.median(slow / fast)]
        speed = ROWS * VECTORS / fast.min() / 1e9
        line = [*(f"{ratio:.1f}" for ratio in ratios), f"{speed:.2f}", f"{error:.0e}"]
        lines.append([f"{d}", _core.instruction_set(), *line])
    head = ["d", "instruction set", "times the NumPy expression", "(median)", "1e9 values/s"]
    return markdown([*head, "largest difference"], lines)


PARTS: dict[str, Callable[[int], str]] = {"fused": fused}
