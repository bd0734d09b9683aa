"""Equal (row, label) pairs, found by the core and by sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from reference.merge import merge
from support import native
from support.native import CSR, DENSE
from widestreet import _core

pytestmark = pytest.mark.numeric


def first_equal(X, label, threads: int = 1):
    label = np.ascontiguousarray(label, dtype=np.float64)
    return _core.first_equal(native.rows(X), label, threads)


def check(X, label) -> None:
    first, distinct = first_equal(X, label)
    merged = merge(X, label)
    assert first.tolist() == merged.first[merged.inverse].tolist()
    assert distinct == len(merged.first)


STORAGES = DENSE | CSR


@pytest.mark.parametrize("storage", STORAGES)
def test_by_hand(storage):
    X = np.array([[0.0, 1.0], [2.0, 2.0], [-0.0, 1.0], [2.0, 2.0], [0.0, 1.0], [0.0, 0.0]])
    first, distinct = first_equal(STORAGES[storage](X), [1, 1, 1, -1, 1, 1])
    assert first.tolist() == [0, 1, 0, 3, 0, 5]  # row 3 has another label than row 1
    assert distinct == 4


def test_zeros_of_either_sign_are_equal_in_rows_and_labels():
    X = np.array([[0.0, -0.0], [-0.0, 0.0], [0.0, 0.0]])
    for values in (X, X.astype(np.float32), np.asfortranarray(X)):
        first, distinct = first_equal(values, [0.0, -0.0, 0.0])
        assert first.tolist() == [0, 0, 0]
        assert distinct == 1


def test_explicit_zeros_are_no_entries():
    data = np.array([1.0, 0.0, 1.0, -0.0, 1.0, 0.0])
    X = sparse.csr_matrix((data, [1, 3, 1, 0, 1, 2], [0, 2, 3, 5, 6]), shape=(4, 5))
    X.indices = np.array([1, 3, 1, 0, 1, 2], dtype=X.indices.dtype)
    first, distinct = first_equal(X, np.zeros(4))
    assert first.tolist() == [0, 0, 0, 3]
    assert distinct == 2


def test_equal_values_in_other_columns_are_other_rows():
    X = sparse.csr_matrix([[1.0, 0.0, 2.0], [1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [1.0, 0.0, 2.0]])
    first, distinct = first_equal(X, np.zeros(4))
    assert first.tolist() == [0, 1, 2, 0]
    assert distinct == 3


def test_neighbouring_numbers_are_different():
    one = np.float32(1)
    X = np.array([[one], [np.nextafter(one, np.float32(2))], [one]], dtype=np.float32)
    first, distinct = first_equal(X, [0.0, 0.0, np.nextafter(0.0, 1.0)])
    assert first.tolist() == [0, 1, 2]
    assert distinct == 3


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows(n):
    for X in (np.ones((n, 3)), sparse.csr_matrix(np.ones((n, 3)))):
        first, distinct = first_equal(X, np.ones(n))
        assert first.tolist() == [0] * n
        assert distinct == min(n, 1)


values = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, 0.1])


@given(data=st.data(), n=st.integers(1, 30), d=st.integers(1, 4))
def test_any_rows_in_any_storage(data, n, d):
    X = np.array(data.draw(st.lists(values, min_size=n * d, max_size=n * d))).reshape(n, d)
    label = np.array(data.draw(st.lists(values, min_size=n, max_size=n)))
    for name, store in STORAGES.items():
        with np.errstate(over="ignore"):
            stored = store(X)
        if not np.isinf(stored.data if sparse.issparse(stored) else stored).any():
            check(stored, label)
        else:
            assert "float32" in name or name == "every third column"


def test_many_rows_and_threads(rng):
    X = rng.integers(0, 6, size=(20_000, 4)) / 8
    label = rng.choice([-1.0, 1.0], 20_000)
    check(X, label)
    for stored in (X, sparse.csr_matrix(X)):
        one, two = (first_equal(stored, label, threads) for threads in (1, 2))
        assert np.array_equal(one[0], two[0])
        assert one[1] == two[1]


def test_the_centre_does_not_matter(rng):
    X = rng.integers(0, 3, size=(50, 2)).astype(np.float64)
    label = np.zeros(50)
    centred = _core.Rows.dense(X, np.array([0.3, -1e9]))
    assert np.array_equal(_core.first_equal(centred, label, 1)[0], first_equal(X, label)[0])


# -- similar rows together -----------------------------------------------------------------------


def one_hot(rng, n: int, categories: tuple[int, ...] = (3, 5), numeric: int = 2):
    """Rows of numbers beside categories, as columns of zeros and ones."""
    parts = [np.eye(k)[rng.integers(k, size=n)] for k in categories]
    return np.hstack([rng.normal(size=(n, numeric)), *parts])


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_one_pattern_are_neighbours(storage, threads, rng):
    X = one_hot(rng, 3000)
    order = _core.similar_together(native.rows(STORAGES[storage](X)), threads)
    assert np.sort(order).tolist() == list(range(3000))
    pattern = (X[order] != 0) @ (1 << np.arange(X.shape[1]))
    changes = np.count_nonzero(np.diff(pattern))
    assert changes == len(np.unique(pattern)) - 1


def test_rows_that_cannot_be_told_apart_stay_in_order():
    order = _core.similar_together(native.rows(np.ones((100, 3))), 1)
    assert order.tolist() == list(range(100))


def test_numbers_of_classes_are_labels(rng):
    X, code = rng.integers(3, size=(500, 2)).astype(np.float64), rng.integers(-1, 2, 500)
    first, distinct = _core.first_equal(native.rows(X), code.astype(np.int8), 2)
    expected = _core.first_equal(native.rows(X), code.astype(np.float64), 1)
    assert np.array_equal(first, expected[0])
    assert distinct == expected[1]
    with pytest.raises(ValueError, match="float64 or int8"):
        _core.first_equal(native.rows(X), code.astype(np.int32), 1)
