"""Quadrature rules of products, pieces of the work, and features that do not vary."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels
from reference.shapley import shapley_values as by_definition
from widestreet._src.kernels import shapley
from widestreet._src.kernels.kernels import RBF, Laplacian
from widestreet._src.kernels.shapley import quadrature, shapley_values, without_constants
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric


def found(kernel, X, Z, S, coef, threads=1, observe=lambda part: None):
    return shapley_values(kernel, X, Z, as_rows(S), coef, threads, observe)


@pytest.mark.parametrize("features", [1, 2, 3, 20, 50])
def test_few_features_have_an_exact_rule(features):
    node, weight = quadrature(features)
    assert len(node) == (features + 1) // 2
    for power in range(features):
        np.testing.assert_allclose(weight @ node**power, 1 / (power + 1), rtol=TOL.kernel_float64)


@pytest.mark.parametrize("features", [200, 1000, 10_000])
def test_many_features_need_few_nodes(features):
    """The hardest products: all of the mass at one end, or in the middle."""
    node, weight = quadrature(features)
    assert len(node) < features / 3
    np.testing.assert_allclose(weight.sum(), 1.0, rtol=TOL.kernel_float64)
    for zeros in (0, 1, features // 2, features - 1):
        ones = features - 1 - zeros
        product = np.exp(zeros * np.log(node) + ones * np.log1p(-node))
        # B(zeros + 1, ones + 1), at most 1
        exact = np.exp(-np.sum(np.log1p(ones / np.arange(1, zeros + 1)))) / features
        assert abs(weight @ product - exact) <= TOL.exact


def test_pieces_change_nothing_but_rounding(monkeypatch, rng):
    X, Z, S = rng.normal(size=(7, 4)), rng.normal(size=(9, 4)), rng.normal(size=(150, 4))
    coef = rng.normal(size=(2, 150))
    whole = found(RBF(0.3), X, Z, S, coef)
    for cost in (1.0, 5e3, 5e4):
        seen = []
        monkeypatch.setattr(shapley, "_CALL_COST", cost)
        parts = found(RBF(0.3), X, Z, S, coef, observe=seen.append)
        assert len(seen) > 1
        assert seen == sorted(seen)
        assert seen[-1] == 1.0
        slack = TOL.scan_float64 * np.abs(coef).sum()
        np.testing.assert_allclose(parts, whole, rtol=0, atol=slack)


def test_threads_change_nothing(rng):
    X, Z, S = rng.normal(size=(40, 4)), rng.normal(size=(9, 4)), rng.normal(size=(600, 4))
    coef = rng.normal(size=(1, 600))
    one = found(Laplacian(0.3), X, Z, S, coef)
    np.testing.assert_array_equal(one, found(Laplacian(0.3), X, Z, S, coef, threads=4))


@pytest.mark.parametrize("kernel", [RBF(0.3), Laplacian(0.2)])
def test_constant_features_are_left_out(kernel, rng):
    X, Z, S = rng.normal(size=(3, 6)), rng.normal(size=(4, 6)), rng.normal(size=(30, 6))
    X[:, [1, 4]] = Z[:, [1, 4]] = [0.5, -2.0]
    X[:, 2] = 1.0  # but the background varies
    coef = rng.normal(size=(2, 30))
    varies, vectors, other = without_constants(kernel, X, Z, as_rows(S), coef)
    assert varies.tolist() == [True, False, True, True, False, True]
    values = np.zeros((3, 6, 2))
    values[:, varies] = shapley_values(
        kernel, X[:, varies], Z[:, varies], vectors, other, 1, lambda part: None
    )

    def value(rows):
        return kernels.matrix(kernel.name, rows, S, gamma=kernel.gamma) @ coef.T

    expected = [by_definition(value, x, Z) for x in X]
    slack = TOL.scan_float64 * np.abs(coef).sum()
    np.testing.assert_allclose(values, expected, rtol=0, atol=slack)


def test_an_interrupt_ends_the_work(monkeypatch, rng):
    def interrupted(part):
        raise KeyboardInterrupt

    monkeypatch.setattr(shapley, "_CALL_COST", 1.0)
    A = rng.normal(size=(5, 3))
    with pytest.raises(KeyboardInterrupt):
        found(RBF(1.0), A, A, A, np.ones((1, 5)), observe=interrupted)
