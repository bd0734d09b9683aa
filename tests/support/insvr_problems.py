"""Problems, references and checks for the tests of INSVR."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from conftest import TOL, chosen_rng
from reference import duals
from reference.kernels import matrix
from reference.qp import solve_qp
from widestreet._src.engines.insvr.insvr import Insvr

LD = np.longdouble
KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 1.0},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
}
SCALINGS = ("schoelkopf", "libsvm")
PARAMETERS = ((0.1, 100.0), (0.3, 1.0), (0.6, 10.0), (0.9, 1.0), (0.9, 100.0))  # nu and C
every_scaling = pytest.mark.parametrize("scaling", SCALINGS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def every_case(test: Callable[..., None]) -> Callable[..., None]:
    """Cross scalings, kernels and parameters."""
    return every_scaling(every_kernel(pytest.mark.parametrize(("nu", "C"), PARAMETERS)(test)))


def problem(kernel: str, n: int, seed: int = 0, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A kernel matrix and targets: a wave with noise."""
    rng = chosen_rng(seed)  # the special cases are met on these samples
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X.sum(axis=1)) + 0.3 * rng.normal(size=n)
    return matrix(X=X, **KERNELS[kernel]), y


def arrivals(machine: Insvr, K, y) -> Iterator[int]:
    """Add all samples; yield their number after each."""
    for i in range(len(y)):
        machine.add(K[:i, i], K[i, i], y[i])
        yield i + 1


def trained(K, y, *args, **kwargs) -> Insvr:
    machine = Insvr(*args, **kwargs)
    machine.load(K, y)
    return machine


def violation(machine: Insvr, K, y) -> float:
    """The conditions (10), from alpha, bias and tube alone, relative to the targets."""
    l = len(y)
    scale = LD(1) / l if machine.scaling == "schoelkopf" else LD(1)
    alpha = machine.alpha.astype(LD)
    f = scale * (K[:l, :l].astype(LD) @ (alpha[0] - alpha[1])) + machine.bias - y
    g = np.stack([f, -f]) + machine.tube
    wrong = np.where(alpha == 0, -g, np.where(alpha == machine.C, g, np.abs(g)))
    return float(max(wrong.max(), 0) / max(1.0, np.abs(y).max()))


def assert_optimal(machine: Insvr, K, y) -> None:
    alpha, total = machine.alpha, machine.C * machine.nu * len(y)
    assert violation(machine, K, y) <= TOL.insvr_violation
    assert alpha.min() >= 0
    assert alpha.max() <= machine.C
    assert abs(alpha.sum() - total) <= TOL.insvr_sum * total
    assert abs(alpha[0].sum() - alpha[1].sum()) <= TOL.insvr_sum * total
    assert machine.tube >= -TOL.insvr_tube
    scale = 1 / len(y) if machine.scaling == "schoelkopf" else 1.0
    np.testing.assert_allclose(machine.coef, scale * (alpha[0] - alpha[1]), atol=0, rtol=TOL.exact)


def decision(machine: Insvr, K) -> np.ndarray:
    l = len(machine.coef)
    return K[:l, :l] @ machine.coef + machine.bias


def programme(K, y, scaling: str, nu: float, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Decision values by the dense QP in LIBSVM's scale, and alpha in that of the paper."""
    l = len(y)
    box = C / l if scaling == "schoelkopf" else C
    qp = duals.nu_svr(K, y, box, nu)
    a = solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper).a
    score = K @ qp.coef(a)
    middle = []  # of what b + e and -b + e may be
    for sign, side in zip((1, -1), a.reshape(2, l) / box, strict=True):
        needed = sign * (y - score)
        zero, full = side < TOL.decision, side > 1 - TOL.decision
        free = ~(zero | full)
        ends = needed[free] if free.any() else [needed[zero].max(), needed[full].min()]
        middle.append(np.mean(ends))
    return score + (middle[0] - middle[1]) / 2, a.reshape(2, l) * (C / box)
