"""Equal rows of a station are merged, and coefficients are divided among them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from widestreet._src.dask.members import MergedBlock, members, merged, spread
from widestreet._src.rows import as_rows
from widestreet._src.training.sharded import Block, Supports

X = np.array([[1.0, 0], [2, 0], [1, 0], [3, 0], [1, 0], [2, 0]])
CODE = np.array([0, 1, 0, 1, 1, 1])  # rows 0 and 2 are equal, and so are 1 and 5
WEIGHT = np.array([1.0, 2.0, 3.0, 1.0, 1.0, 0.0])


def block(weight=WEIGHT, form=np.asarray, rows=slice(None)):
    X_, origin = form(X[rows]), 10 + np.arange(6)[rows]
    return Block(as_rows(X_), CODE[rows], weight[rows], origin, 2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_equal_rows_of_one_label_become_one(form):
    found = pickle.loads(pickle.dumps(merged(block(form=form))))
    assert isinstance(found, MergedBlock)
    assert found.origin.tolist() == [10, 11, 13, 14]
    assert found.weight.tolist() == [4.0, 2.0, 1.0, 1.0]
    assert found.target.tolist() == [0, 1, 1, 1]
    assert found.number == 2
    assert np.array_equal(np.asarray(found.rows.data[[0]].sum()), 1.0)
    assert len(found) == 4


def test_distinct_rows_stay_as_they_are():
    whole = block(rows=slice(3, 5))
    assert merged(whole) is whole
    without = merged(block(rows=slice(3, 6)))
    assert type(without) is Block
    assert without.origin.tolist() == [13, 14]


def test_a_row_of_weight_zero_stands_for_no_other():
    weight = np.array([0.0, 0.0, 3.0, 1.0, 1.0, 2.0])
    found = merged(block(weight))
    assert type(found) is Block
    assert found.origin.tolist() == [12, 15, 13, 14]
    assert found.weight.tolist() == [3.0, 2.0, 1.0, 1.0]
    assert np.array_equal(found.rows.data, X[found.origin - 10])


def test_members_are_those_of_the_rows_asked_about():
    found = merged(block(np.ones(6)))
    standing, numbers, weight = members(found, np.array([3, 10, 13]))
    assert standing.tolist() == [10, 10]
    assert numbers.tolist() == [10, 12]
    assert weight.tolist() == [1.0, 1.0]
    assert [len(part) for part in members(block(), np.array([10]))] == [0, 0, 0]


@pytest.mark.parametrize("proportional", [False, True])
def test_coefficients_are_divided_within_the_boxes(proportional):
    data, code = np.array([[9.0], [1.0], [2.0]]), np.array([1, 0, 1])
    supports = Supports(np.array([5, 10, 11]), data, code, np.array([[0.5, -3.0, 1.0]]))
    found = [
        (np.array([10, 10]), np.array([10, 4]), np.array([2.0, 2.0])),
        (np.array([], dtype=np.int64), np.array([], dtype=np.int64), np.empty(0)),
    ]
    after = spread(supports, found, lambda code, weight: weight, proportional=proportional)
    assert after.origin.tolist() == [4, 5, 10, 11]
    assert after.data.ravel().tolist() == [1, 9, 1, 2]
    assert after.code.tolist() == [0, 1, 0, 1]
    shares = [-1.5, -1.5] if proportional else [-1.0, -2.0]
    assert after.lines.tolist() == [[shares[0], 0.5, shares[1], 1.0]]


def test_rows_without_a_share_are_no_support_vectors():
    supports = Supports(np.array([10]), np.ones((1, 1)), np.array([0]), np.array([[2.0]]))
    found = [(np.array([10, 10]), np.array([10, 4]), np.array([2.0, 2.0]))]
    after = spread(supports, found, lambda code, weight: weight, proportional=False)
    assert after.origin.tolist() == [10]
    nothing = [tuple(part[:0] for part in found[0])]
    assert spread(supports, nothing, lambda code, weight: weight, proportional=False) is supports
