"""Scans that threads share in parts: their sums do not depend on how they are shared."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from conftest import TOL
from reference import kernels
from support.native import PARAMS, STORAGES, kernel, rows, sample
from widestreet import _core

pytestmark = pytest.mark.numeric

# Right rows of a scan: less than a part, and several parts of dense and of sparse left rows.
VECTORS = (3, 900, 40_000)
SETS = (1, 2, 3)


def summed(left, right, lines, in_double: bool, threads: int, height: int) -> np.ndarray:
    """Sums of all left rows against all right rows."""
    out = np.zeros((len(lines), height))
    into = (rows(left), None, rows(right), None)
    _core.scan(kernel("rbf", **PARAMS["rbf"]), *into, lines, out, in_double, threads)
    return out


@pytest.mark.parametrize("storage", ["C float32", "mostly zero float64", "csr explicit zeros"])
@pytest.mark.parametrize("in_double", [False, True])
@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("vectors", VECTORS)
def test_sums_of_parts_are_sums_over_all_right_rows(storage, in_double, sets, vectors, rng):
    X, S = sample(70, 9), sample(vectors, 9, seed=1)
    lines = rng.normal(size=(sets, vectors))
    K = kernels.matrix("rbf", X, S, **PARAMS["rbf"])
    tolerance = TOL.scan_float64 if in_double else TOL.scan_float32
    left, right = STORAGES[storage](X), STORAGES[storage](S)
    slack = tolerance * np.abs(lines).sum(axis=1).max()
    for threads in (1, 2, 7):
        found = summed(left, right, lines, in_double, threads, len(X))
        np.testing.assert_allclose(found, lines @ K.T, atol=slack, rtol=0)


@pytest.mark.parametrize("in_double", [False, True])
def test_dense_sums_do_not_depend_on_the_number_of_threads(in_double, rng):
    X, S, lines = sample(150, 9), sample(20_000, 9, seed=1), rng.normal(size=(2, 20_000))
    one, *others = (summed(X, S, lines, in_double, threads, 150) for threads in (1, 2, 5, 16))
    for other in others:
        assert np.array_equal(one, other)


@pytest.mark.parametrize("storage", ["F float64", "mostly zero float32", "csr int32 float32"])
@pytest.mark.parametrize("name", [*PARAMS])
@pytest.mark.parametrize("in_double", [False, True])
def test_several_scans_in_a_call_are_scans_one_by_one(storage, name, in_double, rng):
    X = sample(300, 9)
    held, native = rows(STORAGES[storage](X)), kernel(name, **PARAMS[name])
    left = [rng.permutation(300)[:n] for n in (1, 40, 299, 7)]
    right = [rng.permutation(300)[:n] for n in (200, 1, 300, 13)]
    coef = [rng.normal(size=len(J)) for J in right]
    out = np.zeros(sum(map(len, left)))
    ends = (np.cumsum([len(part) for part in side]) for side in (left, right))
    left_end, right_end = ends
    _core.scan_each(
        native, held, np.concatenate(left), left_end, held, np.concatenate(right), right_end,
        np.concatenate(coef), out, in_double, 3,
    )  # fmt: skip
    for I, J, c, part in zip(left, right, coef, np.split(out, left_end[:-1]), strict=True):
        alone = np.zeros((1, len(I)))
        _core.scan(native, held, I, held, J, c[None], alone, in_double, 3)
        tolerance = TOL.scan_float64 if in_double else TOL.scan_float32
        np.testing.assert_allclose(part, alone[0], atol=tolerance * (1 + np.abs(c).sum()), rtol=0)


def test_scans_whose_panels_exceed_the_memory_of_a_call(rng):
    """Two scans of 40 MB each, against panels of at most 64 MB: the second begins in between."""
    X = sample(5000, 1000)
    held, I, J = rows(X), np.arange(4), np.arange(5000)
    coef = rng.normal(size=(2, 5000))
    ends, out = np.array([4, 8]), np.zeros(8)
    _core.scan_each(
        kernel("linear"), held, np.tile(I, 2), ends, held, np.tile(J, 2), 5000 * ends // 4,
        coef.ravel(), out, True, 2,
    )  # fmt: skip
    expected = coef @ (X @ X[:4].T)
    slack = TOL.scan_float64 * np.abs(coef).sum()
    np.testing.assert_allclose(out.reshape(2, 4), expected, atol=slack, rtol=0)


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of peaks differs")
def test_memory_of_a_scan_is_limited_for_rows_of_many_columns():
    """A part of the least size would have a panel of 650 MB."""
    probe = """
import resource, numpy as np
from widestreet import _core
X = np.ones((4096, 20_000), dtype=np.float32)
held = _core.Rows.dense(X, None)
kernel = _core.Kernel(_core.KernelKind.linear, 1.0, 0.0, 1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
out = np.zeros((1, 4))
_core.scan(kernel, held, np.arange(4), held, None, np.ones((1, 4096)), out, True, 1)
assert (out == 4096 * 20_000).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 2 * 2**26


def test_ends_and_sizes_are_checked():
    X = sample(10, 3)
    held, every = rows(X), np.arange(10)
    right = (held, every, np.array([10]), np.ones(10))
    for left_end, out in (([9], 10), ([10], 9), ([5, 10], 10), ([0, 10], 10)):
        with pytest.raises(ValueError, match=r"a part must|must cover|one value per|each scan has"):
            _core.scan_each(
                kernel("rbf"), held, every, np.array(left_end), *right, np.zeros(out), True, 1
            )
    with pytest.raises(ValueError, match="one value per right row"):
        _core.scan_each(
            kernel("rbf"), held, every, np.array([10]), held, every, np.array([10]),
            np.ones(9), np.zeros(10), True, 1,
        )  # fmt: skip
