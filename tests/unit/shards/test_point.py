"""Points: dense coefficients that are never written down."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widestreet._src.shards.point import Point


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), layers=st.integers(1, 2))
def test_a_point_is_its_dense_coefficients(seed, n, layers):
    rng = np.random.default_rng(seed)
    beta, point = np.zeros((layers, n)), Point.zero(layers)
    for _ in range(5):
        ids = rng.permutation(n)[: rng.integers(0, n + 1)]
        values = rng.choice([0.0, 1.0, -2.0], (layers, len(ids)))
        before, point = point, point.with_rows(ids, values)
        assert np.array_equal(before.dense(n), beta)  # it did not change
        beta[:, ids] = values
        assert np.array_equal(point.dense(n), beta)
        assert (np.diff(point.ids) > 0).all()
        assert point.beta.any(axis=0).all()
        assert np.array_equal(point.coef, beta.sum(axis=0)[point.ids])
        some = rng.integers(0, n, 7)
        assert np.array_equal(point.at(some), beta[:, some])
        begin, end = np.sort(rng.integers(0, n + 1, 2))
        assert np.array_equal(point.between(begin, end).dense(end - begin), beta[:, begin:end])
        assert np.array_equal(Point.of(beta).ids, point.ids)
        assert len(point) == np.count_nonzero(beta.any(axis=0))


@pytest.mark.parametrize("layers", [1, 2])
def test_the_zero_point(layers):
    zero = Point.zero(layers)
    assert len(zero) == 0
    assert zero.dense(4).tolist() == [[0.0] * 4] * layers
    assert zero.at(np.array([3, 1])).tolist() == [[0.0] * 2] * layers
