"""Shapley values of kernel expansions against the sum over all coalitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

from conftest import TOL
from reference import kernels
from reference.shapley import shapley_values
from support.native import STORAGES, kernel
from support.native import rows as native_rows
from widestreet import _core

pytestmark = pytest.mark.numeric
GAMMA = {"rbf": 0.4, "laplacian": 0.3}


def found(name, X, Z, S, coef, threads=1, index=None, shape=None):
    index = np.arange(coef.shape[1]) if index is None else index
    (n, d), others = np.shape(X) if shape is None else shape, 4
    node, weight = leggauss((d + 1) // 2)
    out = np.zeros((n, d, len(coef)))
    rows, background, vectors = (native_rows(A) for A in (X, Z, S))
    _core.add_shapley_values(
        kernel=kernel(name, gamma=GAMMA[name]),
        rows=rows,
        background=background,
        vectors=vectors,
        vector_index=index,
        node=(1 + node) / 2,
        weight=weight / (2 * others),
        coef=coef,
        out=out,
        threads=threads,
    )
    return out


def problem(rng, d, n=3, vectors=21, lines=2):
    X, Z, S = (rng.normal(size=(count, d)) for count in (n, 4, vectors))
    return X, Z, S, rng.normal(size=(lines, vectors))


@pytest.mark.parametrize("name", GAMMA)
@pytest.mark.parametrize("d", [1, 2, 3, 6, 9])
def test_values_are_those_of_all_coalitions(name, d, rng):
    X, Z, S, coef = problem(rng, d)

    def value(rows):
        return kernels.matrix(name, rows, S, gamma=GAMMA[name]) @ coef.T

    expected = [shapley_values(value, x, Z) for x in X]
    slack = TOL.scan_float64 * np.abs(coef).sum()
    np.testing.assert_allclose(found(name, X, Z, S, coef), expected, rtol=0, atol=slack)


@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_has_the_same_values(storage, rng):
    X, Z, S, coef = problem(rng, 5)
    X, Z, S = ((np.round(A * 64) / 64) * (np.abs(A) > 0.5) for A in (X, Z, S))
    expected = found("rbf", X, Z, S, coef)
    made = [STORAGES[storage](A) for A in (X, Z, S)]
    np.testing.assert_allclose(
        found("rbf", *made, coef, shape=X.shape), expected, rtol=0, atol=TOL.exact
    )


def test_values_do_not_depend_on_the_threads(rng):
    X, Z, S, coef = problem(rng, 4, n=40, vectors=700)
    one = found("rbf", X, Z, S, coef, threads=1)
    np.testing.assert_array_equal(one, found("rbf", X, Z, S, coef, threads=3))


def test_some_vectors_and_none(rng):
    X, Z, S, coef = problem(rng, 4)
    some = np.array([3, 0, 11])
    expected = found("rbf", X, Z, S[some], coef[:, :3].copy())
    np.testing.assert_array_equal(found("rbf", X, Z, S, coef[:, :3].copy(), index=some), expected)
    none = found("rbf", X, Z, S, coef[:, :0].copy(), index=some[:0])
    assert not none.any()


def test_features_that_vanish_take_nothing_from_others(rng):
    """Factors of zero: nothing is divided by them."""
    X, Z, S, coef = problem(rng, 3)
    X[:, 1] += 1e3
    Z[:, 1] += 1e3
    assert np.all(found("rbf", X, Z, S, coef) == 0.0)
    Z[:, 1] -= 1e3
    values = found("rbf", X, Z, S, coef)
    score = kernels.matrix("rbf", Z, S, gamma=GAMMA["rbf"]) @ coef.T
    np.testing.assert_allclose(
        values.sum(axis=1), np.tile(-score.mean(axis=0), (3, 1)), rtol=0, atol=TOL.twin
    )
