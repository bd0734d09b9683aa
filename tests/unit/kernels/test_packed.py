"""Packed rows give the sums of a Gram, bit for bit, or leave them to it."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.native import PARAMS
from widestreet._src.kernels import packed
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import NATIVE_KERNELS, RBF
from widestreet._src.kernels.packed import PackedRows
from widestreet._src.rows.dense import DenseRows

pytestmark = pytest.mark.numeric
ENDS = [0, 20, 57]


def named(name):
    own = PARAMS[name]
    return NATIVE_KERNELS[name](**own)


@pytest.mark.parametrize("name", PARAMS)
@pytest.mark.parametrize("rows", [1, 2, 13])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lines", [1, 2, 4])
def test_sums_are_those_of_a_gram(name, rows, dtype, lines, rng):
    S, X = rng.normal(size=(57, 5)).astype(dtype), rng.normal(size=(rows, 5)).astype(dtype)
    coef, centre = rng.normal(size=(lines, 57)), rng.normal(size=5)
    right = DenseRows(S, centre)
    found = PackedRows(named(name), right, ENDS, threads=2).scan(X, coef, 2)
    gram = Gram(named(name), DenseRows(X, centre), right)
    for part, (a, b) in zip(found, [(0, 20), (20, 57)], strict=True):
        expected = gram.scan(None, np.arange(a, b), np.ascontiguousarray(coef[:, a:b]))
        np.testing.assert_array_equal(part, expected)


def test_what_a_gram_has_to_do_is_left_to_it(monkeypatch, rng):
    S, X = rng.normal(size=(57, 5)), rng.normal(size=(13, 5))
    coef = rng.normal(size=(1, 57))
    kept = PackedRows(RBF(1.0), DenseRows(S), ENDS, threads=1)
    assert kept.scan(X, coef, 1) is not None
    assert kept.scan(np.asfortranarray(X), coef, 1) is None
    assert kept.scan(X + 1e3, coef, 1) is None  # too long for distances from norms
    assert PackedRows(RBF(1.0), DenseRows(S + 1e3), ENDS, threads=1).scan(X, coef, 1) is None
    monkeypatch.setattr(packed, "_MOST_COST", 12 * 57 * 21)
    assert kept.scan(X, coef, 1) is None
    assert kept.scan(X[:12], coef, 1) is not None


def test_a_gamma_of_zero_has_no_long_rows(rng):
    S, X, coef = rng.normal(size=(57, 5)), 1e9 * rng.normal(size=(13, 5)), np.ones((1, 57))
    one, other = PackedRows(RBF(0.0), DenseRows(S), ENDS, threads=1).scan(X, coef, 1)
    assert (one == 20.0).all()
    assert (other == 37.0).all()


def test_large_rows_are_not_packed(monkeypatch, rng):
    rows = DenseRows(rng.normal(size=(8, 4)))
    monkeypatch.setattr(packed, "_LARGEST_BYTES", 8 * 8 * 4)
    assert PackedRows.fit_memory(rows)
    monkeypatch.setattr(packed, "_LARGEST_BYTES", 8 * 8 * 4 - 1)
    assert not PackedRows.fit_memory(rows)


def test_a_kernel_that_is_one_everywhere(rng):
    rows, coef = DenseRows(rng.normal(size=(57, 5))), rng.normal(size=(1, 57))
    found = PackedRows(RBF(0.0), rows, [0, 57], threads=1).scan(rng.normal(size=(3, 5)), coef, 1)
    np.testing.assert_allclose(found[0], np.tile(coef.sum(), (1, 3)), rtol=0, atol=TOL.twin)
