"""Rows that are known by their number: those heard of, those taken, and their kernel values."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from conftest import TOL
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import as_rows
from widestreet._src.shards.columns import AllRows, Features, HeardRows, TakenRows, joined

X = np.random.default_rng(0).normal(size=(30, 3))
KERNEL = RBF(0.5)
BEGIN, END = 10, 22  # of the shard
FORMS = {"dense": lambda X: X, "csr": sparse.csr_matrix}
every_form = pytest.mark.parametrize("form", FORMS)
every_diagonal = pytest.mark.parametrize("diagonal", [None, np.arange(30.0)])


def features(form, ids, diagonal=None) -> Features:
    ids = np.asarray(ids, dtype=np.int64)
    own = None if diagonal is None else diagonal[ids]
    return Features(ids, FORMS[form](X[ids]), own, 2 * ids)


def whole(form, diagonal=None) -> np.ndarray:
    return Gram(KERNEL, as_rows(FORMS[form](X))).select(None, diagonal=diagonal).block()


def heard_rows(form, diagonal=None) -> HeardRows:
    rows = as_rows(FORMS[form](X[BEGIN:END]))
    longest = as_rows(X).largest_square(1)
    own = None if diagonal is None else diagonal[BEGIN:END]
    return HeardRows(KERNEL, rows, BEGIN, longest, np.arange(BEGIN, END), own)


@every_form
@every_diagonal
def test_kernel_values_with_what_was_heard(form, diagonal):
    columns = heard_rows(form, diagonal)
    K = whole(form, diagonal)
    past: list[np.ndarray] = []
    for ids in ([2, 11, 15, 25], [3, 11, 29]):
        past.append(np.array(ids))
        columns.hear(features(form, ids, diagonal), past)
        known = np.unique(np.concatenate(past))
        found = columns.gram.block(None, columns.places(known))
        np.testing.assert_allclose(found, K[BEGIN:END][:, known], atol=TOL.kernel_float64, rtol=0)
    columns.hear(features(form, [4], diagonal), [np.array([4])])
    assert columns.gram.shape == (END - BEGIN, 1)  # what no expansion needs is dropped


@every_form
def test_a_copy_has_heard_nothing(form):
    columns = heard_rows(form)
    columns.hear(features(form, [2, 11]), [])
    copy = pickle.loads(pickle.dumps(columns))
    columns.forget()
    for one in (columns, copy):
        assert one.gram.shape == (END - BEGIN, 0)
        one.hear(features(form, [5]), [])
        assert one.gram.shape == (END - BEGIN, 1)


@every_form
def test_features_of_some_rows(form):
    found = heard_rows(form).features(np.array([1, 4]))
    assert found.ids.tolist() == found.origin.tolist() == [11, 14]
    assert np.array_equal(np.asarray(sparse.csr_matrix(found.data).todense()), X[[11, 14]])


@every_form
@every_diagonal
def test_kernel_values_of_what_was_taken(form, diagonal):
    known = TakenRows(KERNEL, as_rows(FORMS[form](X[:0])), as_rows(X).largest_square(1))
    assert known.gram.shape == (0, 0)
    assert known.gram.fits_float32
    known.learn([features(form, [3, 8], diagonal)])
    known.learn([features(form, [1, 3], diagonal), None, features(form, [3, 20], diagonal)])
    ids = np.array([20, 1, 8])
    at = known.places(ids)
    found = known.gram.block(at, at)
    K = whole(form, diagonal)
    np.testing.assert_allclose(found, K[np.ix_(ids, ids)], atol=TOL.kernel_float64, rtol=0)
    ids = np.array([3, 20])
    np.testing.assert_array_equal(known.between(ids).block(), K[np.ix_(ids, ids)])
    assert known.between(ids).left.shape == (2, 3)
    assert known.unknown(np.array([1, 2, 20])).tolist() == [2]
    assert known.heard(np.array([8])).origin.tolist() == [16]


def test_rows_out_of_use_are_dropped_when_they_are_many():
    known = TakenRows(KERNEL, as_rows(X[:0]), 10.0)
    known.learn([features("dense", np.arange(20))])
    known.keep(np.arange(5), np.arange(3, 10))
    assert len(known.rows) == 20
    known.keep(np.arange(5))
    assert known.rows.ids.tolist() == list(range(5))


def test_rows_that_are_joined_come_once_and_in_order():
    parts = [features("csr", ids, np.ones(30)) for ids in ([4, 9], [2, 9], [])]
    both = joined(parts)
    assert both.ids.tolist() == [2, 4, 9]
    assert both.data.shape == (3, 3)
    assert both.diagonal is not None
    assert len(both.diagonal) == 3


def test_rows_in_memory_are_all_known():
    columns = AllRows(Gram(KERNEL, as_rows(X)))
    ids = np.array([4, 2])
    assert columns.places(ids) is ids
    columns.hear(None, [])
    columns.forget()
    assert columns.features(ids) is None
    columns.learn([None])
    columns.keep(ids)
    assert columns.heard(ids) is None
    assert len(columns.unknown(ids)) == 0


@given(st.sets(st.integers(0, 19), max_size=8), st.lists(st.integers(0, 19), max_size=8))
def test_places_are_those_of_known_rows_only(heard, asked):
    every, ids = np.array(sorted(heard), dtype=np.int64), np.array(asked, dtype=np.int64)
    known, columns = TakenRows(KERNEL, as_rows(X[:0]), 10.0), heard_rows("dense")
    known.learn([features("dense", every)])
    columns.hear(features("dense", every), [])
    for one in (known, columns):
        if heard.issuperset(asked):
            assert np.array_equal(every[one.places(ids)], ids)
        else:
            with pytest.raises(AssertionError, match="not known"):
                one.places(ids)
