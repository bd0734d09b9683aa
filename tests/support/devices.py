"""Devices for tests: one in NumPy that runs everywhere, and Triton's programs.

The programs run on a GPU if there is one, otherwise by Triton's interpreter. They are skipped where
PyTorch or Triton are not installed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from widestreet._src.device.contract import Device, Map
from widestreet._src.estimators import placing

DEVICES = ("numpy", "triton")


@dataclass
class PlainRows:
    rows: int
    values: np.ndarray


@dataclass
class PlainDevice:
    """NumPy in the place of a device. `size` is its memory; `off` is added to all scores."""

    size: int = 1 << 30
    off: float = 0.0
    name: str = "NumPy"
    scans: list[tuple[int, int, bool]] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    released: int = 0

    def room(self) -> int:
        return self.size

    def bytes_per_row(self, features: int) -> int:
        return 8 * features

    def release(self) -> None:
        self.released += 1

    def hold(self, values: Any, centre: np.ndarray | None, by: Map) -> PlainRows:
        dense = values.toarray() if sparse.issparse(values) else values
        if dense.size * 8 > self.size:
            raise MemoryError("the rows do not fit")
        self.held.append(len(dense))
        dense = dense.astype(np.float64)
        return PlainRows(len(dense), (dense if centre is None else dense - centre) * by.factor)

    def scan(self, by, left, I, right, J, coef, double):
        X = left.values if I is None else left.values[I]
        S = right.values if J is None else right.values[J]
        self.scans.append((len(X), len(S), double))
        K = values(by, X, S)
        if not double:
            K = K.astype(np.float32).astype(np.float64)
        return coef @ K.T + self.off


def values(by: Map, X: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Kernel values by their definition."""
    if by.kind in ("rbf", "laplacian", "far_rbf"):
        difference = X[:, None] - S[None]
        power = np.abs(difference) if by.kind == "laplacian" else difference**2
        return np.exp2(-power.sum(axis=2) * (0.5 if by.kind == "rbf" else 1.0))
    z = X @ S.T + by.start
    return np.tanh(z) if by.kind == "sigmoid" else z**by.degree


@cache
def _triton() -> Device:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    gpu = torch.cuda.is_available()
    if not gpu:
        os.environ["TRITON_INTERPRET"] = "1"  # read by the first import of Triton
        torch.set_num_threads(1)
    pytest.importorskip("triton", reason="Triton is not installed")
    from widestreet._src.device.cuda import CudaDevice

    return CudaDevice("cuda" if gpu else "cpu")


def device_of(name: str) -> Any:
    return PlainDevice() if name == "numpy" else _triton()


def use(patch: pytest.MonkeyPatch, device: Any) -> Any:
    """Let device="cuda" mean a device of the tests; return it."""
    patch.setattr(placing, "gpu", lambda: device)
    patch.setattr(placing, "gpu_or_none", lambda: device)
    return device
