"""Kernel matrices in float64 by their definitions (differences, never the norm expansion)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian")


def dense(X) -> np.ndarray:
    """The rows as a C-ordered float64 array; CSR is written out."""
    X = X.toarray() if sparse.issparse(X) else X
    return np.ascontiguousarray(X, dtype=np.float64)


def matrix(
    kernel: str, X, S=None, *, gamma: float = 1.0, coef0: float = 0.0, degree: int = 3
) -> np.ndarray:
    """K[i, j] = K(x_i, s_j), with S = X when S is None.

    linear      x.s
    rbf         exp(-gamma sum_k (x_k - s_k)^2)
    poly        (gamma x.s + coef0)^degree
    sigmoid     tanh(gamma x.s + coef0)
    laplacian   exp(-gamma sum_k |x_k - s_k|)
    """
    X = dense(X)
    S = X if S is None else dense(S)
    if kernel in ("rbf", "laplacian"):
        difference = X[:, None, :] - S[None, :, :]
        distance = difference**2 if kernel == "rbf" else np.abs(difference)
        return np.exp(-gamma * distance.sum(axis=2))
    dot = (X[:, None, :] * S[None, :, :]).sum(axis=2)
    if kernel == "linear":
        return dot
    if kernel == "poly":
        return (gamma * dot + coef0) ** degree
    if kernel == "sigmoid":
        return np.tanh(gamma * dot + coef0)
    raise ValueError(f"unknown kernel {kernel!r}; known: {', '.join(KERNELS)}")


def diagonal(kernel: str, X, **params) -> np.ndarray:
    """K(x_i, x_i) for every row."""
    return np.diag(matrix(kernel, X, **params)).copy()


def scan(kernel: str, X, S, coef, **params) -> np.ndarray:
    """u_i = sum_j coef_j K(x_i, s_j)."""
    return matrix(kernel, X, S, **params) @ np.asarray(coef, dtype=np.float64)
