"""Kernels: textbook formulas, and what is known of their values."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels as reference
from support.native import PARAMS, sample
from widestreet._src.kernels.kernels import NATIVE_KERNELS, RBF, Callable, Poly, Precomputed

every_kernel = pytest.mark.parametrize("name", NATIVE_KERNELS)


@every_kernel
def test_the_textbook_formula(name):
    X, kernel = sample(30, 5), NATIVE_KERNELS[name](**PARAMS[name])
    K = reference.matrix(name, X, **PARAMS[name])
    found = kernel.plain(X, X)
    np.testing.assert_allclose(found, K, rtol=0, atol=TOL.kernel_float64 * np.abs(K).max())
    diagonal = kernel.of_squares(np.square(X).sum(axis=1))
    np.testing.assert_allclose(diagonal, K.diagonal(), rtol=0, atol=TOL.kernel_float64 * K.max())


@every_kernel
def test_no_value_is_larger_than_the_bound(name):
    X, kernel = 3.0 * sample(30, 5), NATIVE_KERNELS[name](**PARAMS[name])
    bound = kernel.largest(float(np.square(X).sum(axis=1).max()))
    assert np.abs(reference.matrix(name, X, **PARAMS[name])).max() <= bound * (1 + TOL.exact)


@every_kernel
def test_positive_kernels_have_no_negative_eigenvalue(name):
    X, kernel = sample(30, 5), NATIVE_KERNELS[name](**PARAMS[name])
    values = np.linalg.eigvalsh(reference.matrix(name, X, **PARAMS[name]))
    if kernel.positive:
        assert values.min() >= -TOL.kernel_float64 * len(X) * values.max()
    assert kernel.positive == (name != "sigmoid")


@every_kernel
def test_translation_invariance(name):
    X, kernel = sample(30, 5), NATIVE_KERNELS[name](**PARAMS[name])
    moved = reference.matrix(name, X + 1.0, **PARAMS[name])
    same = np.allclose(moved, reference.matrix(name, X, **PARAMS[name]), rtol=0, atol=TOL.twin)
    assert kernel.translation_invariant == same


def test_a_polynomial_may_be_indefinite_and_its_bound_may_overflow():
    assert not Poly(gamma=1.0, coef0=-1.0, degree=3).positive
    assert Poly(gamma=1.0, coef0=0.0, degree=200).largest(1e10) == np.inf


def test_kernels_are_values_with_named_parameters():
    assert RBF(0.5) == RBF(0.5) != RBF(0.25)
    assert {name: kernel.parameters() for name, kernel in NATIVE_KERNELS.items()} == {
        name: set(PARAMS[name]) for name in NATIVE_KERNELS
    }
    assert not Precomputed().positive
    assert not Callable(len).positive
