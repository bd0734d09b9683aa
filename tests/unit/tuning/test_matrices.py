"""Kernel matrices of several kernels in one buffer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from support.machines import data
from widestreet._src.kernels.kernels import RBF, Kernel, Laplacian, Poly
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import Rows, as_rows
from widestreet._src.tuning.matrices import KernelMatrices, matrix_memory

KEPT = np.arange(0, 120, 2)
KERNELS = (RBF(0.1), RBF(10.0), Laplacian(0.5), Poly(0.5, 1.0, 2), RBF(1.0))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("share", [False, True])
def test_matrices_are_those_of_the_kernels(share, storage):
    X = storage(data("svc")[0] + 100.0)
    centred, plain = as_rows(X, centred=True), as_rows(X)

    def rows(kernel: Kernel) -> Rows:
        return centred if kernel.translation_invariant else plain

    matrices = KernelMatrices(rows, KEPT, share=share, threads=2)
    for kernel in KERNELS:
        expected = matrices.gram(kernel).block()
        found = matrices.matrix(kernel, Poll())
        size = max(1.0, np.abs(expected).max())
        norm = centred.largest_square(1) if sparse.issparse(X) else 1.0
        np.testing.assert_allclose(
            found, expected, atol=100 * TOL.kernel_float64 * size * max(1.0, norm)
        )


def test_matrices_of_different_numbers_exist_at_the_same_time():
    rows = as_rows(data("svc")[0], centred=True)
    matrices = KernelMatrices(lambda kernel: rows, KEPT, share=True, threads=1)
    one, other = matrices.matrix(RBF(0.1), Poll(), 0), matrices.matrix(RBF(1.0), Poll(), 1)
    np.testing.assert_allclose(one**10, other, atol=TOL.twin)


@pytest.mark.parametrize("threads", [1, 2])
def test_rounded_matrices_belong_to_those_of_the_same_number(threads):
    rows = as_rows(data("svc")[0], centred=True)
    matrices = KernelMatrices(lambda kernel: rows, KEPT, share=False, threads=threads)
    for gamma in (0.1, 1.0):
        exact = [matrices.matrix(RBF(k * gamma), Poll(), k) for k in (0, 1)]
        for k in (0, 1):
            np.testing.assert_array_equal(matrices.rounded(Poll(), k), exact[k].astype(np.float32))
            assert matrices.rounded(Poll(), k).strides[1] == 4


@pytest.mark.filterwarnings("error")
def test_matrices_too_large_for_float32_are_not_rounded(rng):
    X = 1e3 * rng.standard_normal((60, 3)) ** 3
    rows = as_rows(X, centred=True)
    matrices = KernelMatrices(lambda kernel: rows, np.arange(60), share=False, threads=1)
    matrices.matrix(Poly(0.3, 1.0, 6), Poll())
    assert matrices.rounded(Poll()) is None
    matrices.matrix(Poly(1e-9, 1.0, 6), Poll())
    assert matrices.rounded(Poll()) is not None


def test_memory_of_a_matrix():
    assert 8e6 <= matrix_memory(1000) <= 9e6
    assert 12e6 <= matrix_memory(1000, rounded=True) <= 13e6
