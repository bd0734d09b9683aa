"""The summary of rows in parts against what is computed from all rows in memory."""

from __future__ import annotations

import pickle
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from widestreet._src.estimators import columns, figures
from widestreet._src.rows.census import Census

ROWS, COLUMNS = 5000, 4
RNG = np.random.default_rng(0)
X = RNG.normal(3.0, [1.0, 10.0, 0.1, 1e-3], (ROWS, COLUMNS))
X[RNG.random(X.shape) < 0.3] = 0.0
WEIGHT = RNG.integers(0, 4, ROWS) / 3.0
LABEL = np.array(["no", "yes", "maybe"])[RNG.integers(0, 3, ROWS)]
DIVISIONS = {
    "one": [0, ROWS],
    "two": [0, 17, ROWS],
    "many": [*range(0, ROWS, 61), ROWS],
    "empty": [0, 0, 900, 900, ROWS, ROWS],
}
STORAGES = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_matrix,
    "csr32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


def taken(X: Any, ends: list[int]) -> Census:
    parts = [Census.of(X[a:b], LABEL[a:b], WEIGHT[a:b]) for a, b in pairwise(ends)]
    return Census.merged(pickle.loads(pickle.dumps(parts)))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("division", DIVISIONS)
def test_figures_are_those_of_all_rows(storage, division):
    rows = STORAGES[storage](X)
    census = taken(rows, DIVISIONS[division])
    dense = np.asarray(rows.todense() if sparse.issparse(rows) else rows, dtype=np.float64)
    assert (census.rows, census.columns, census.dtype) == (ROWS, COLUMNS, rows.dtype)
    assert census.sparse == sparse.issparse(rows)
    variance = figures.weighted_variance(rows, WEIGHT)
    assert census.weighted.variance == pytest.approx(variance, rel=TOL.twin)
    distance = figures.mean_square_distance(rows, WEIGHT)
    assert census.weighted.square_distance == pytest.approx(distance, rel=TOL.twin)
    assert census.plain.mean == pytest.approx(dense.mean(axis=0), rel=TOL.twin)
    assert census.plain.weight == ROWS
    assert census.largest == np.abs(dense).max()
    assert census.largest_square == pytest.approx(np.square(dense).sum(axis=1).max(), rel=TOL.twin)
    assert census.nonzeros == np.count_nonzero(dense)
    if census.sparse:
        assert census.spread == pytest.approx(columns.spread_of(rows), rel=TOL.twin)
    else:
        assert np.array_equal(census.spread, np.ptp(dense, axis=0))
    assert census.weights.positive == np.count_nonzero(WEIGHT)
    assert census.weights.total == pytest.approx(WEIGHT.sum(), rel=TOL.twin)
    assert (census.weights.least, census.weights.least_positive) == (0.0, 1 / 3)
    assert census.fault is None


def test_figures_do_not_depend_on_the_order_of_parts():
    parts = [Census.of(X[a::3], LABEL[a::3], WEIGHT[a::3]) for a in range(3)]
    first, *others = (Census.merged(order) for order in permutations(parts))
    for other in others:
        assert other.weighted.variance == pytest.approx(first.weighted.variance, rel=TOL.exact)
        assert other.plain.mean == pytest.approx(first.plain.mean, rel=TOL.exact)
        assert np.array_equal(other.labels.classes, first.labels.classes)
        assert other.labels.weight == pytest.approx(first.labels.weight, rel=TOL.exact)
        assert np.array_equal(other.low, first.low)


def test_figures_hardly_depend_on_the_division():
    far = X + 1e6
    figures = [
        Census.merged([Census.of(far[a:b]) for a, b in pairwise(ends)]).plain
        for ends in DIVISIONS.values()
    ]
    for one in figures:
        assert one.square == pytest.approx(figures[0].square, rel=TOL.twin)
        assert one.mean == pytest.approx(figures[0].mean, rel=TOL.exact)


def test_labels_may_be_missing_in_some_parts():
    order = np.argsort(LABEL, kind="stable")
    parts = [Census.of(X[ids], LABEL[ids]) for ids in np.array_split(order, 7)]
    labels = Census.merged(parts).labels
    assert labels.classes.tolist() == ["maybe", "no", "yes"]
    assert labels.count.tolist() == [np.count_nonzero(name == LABEL) for name in labels.classes]


def test_targets_have_their_extremes():
    y = X[:, 1]
    parts = [Census.of(X[a::5], y[a::5], labels=False) for a in range(5)]
    census = Census.merged(parts)
    assert census.labels is None
    assert census.target == (y.min(), y.max())


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_the_first_invalid_value_is_found(storage, value, what):
    bad = X.copy()
    bad[2801, 2] = bad[2802, 0] = value
    parts = [Census.of(STORAGES[storage](bad)[a : a + 1000]) for a in range(0, ROWS, 1000)]
    assert parts[2].fault.row == 801
    fault = Census.merged(parts).fault
    assert (fault.name, fault.what, fault.row, fault.column) == ("X", what, 2801, 2)


def test_parts_of_different_kinds_are_refused():
    with pytest.raises(ValueError, match="4 columns in one part and 3 in another"):
        Census.merged([Census.of(X), Census.of(X[:, :3])])
    with pytest.raises(TypeError, match="sparse in one part and dense in another"):
        Census.merged([Census.of(X), Census.of(sparse.csr_matrix(X))])


def test_the_widest_type_counts():
    parts = [Census.of(X.astype(np.float32)), Census.of(np.arange(8).reshape(2, 4))]
    assert [part.dtype for part in parts] == [np.float32, np.float64]
    assert Census.merged(parts).dtype == np.float64


def test_no_rows_at_all():
    census = Census.merged([Census.of(X[:0]), Census.of(X[:0])])
    assert (census.rows, census.largest, census.weighted.variance) == (0, 0.0, 0.0)
    assert np.array_equal(census.spread, np.zeros(COLUMNS))


def test_values_too_large_for_sums_are_told_by_the_largest():
    huge = np.array([[1e200, -1e308], [1e308, 1.0], [1e308, 1e308]])
    assert Census.merged([Census.of(huge[:1]), Census.of(huge[1:])]).largest == 1e308


def test_weights_that_overflow_are_infinite():
    parts = [Census.of(X[:2], weight=np.full(2, 1e308)) for _ in range(2)]
    assert Census.merged(parts).weights.total == np.inf
