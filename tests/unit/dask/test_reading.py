"""Partitions as workers read them."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

pytest.importorskip("distributed", reason="dask and distributed are not installed")

import widestreet as ws
from widestreet._src.dask.reading import Part, Reader, Refusal, summary

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 0, 1])


def reader(targets="labels", names=None):
    model = {"labels": ws.SVC(), "numbers": ws.SVR(), "none": ws.OneClassSVM()}[targets]
    return Reader(model, targets, names, ws.__version__)


def test_rows_are_read_as_a_local_fit_does():
    frame = pd.DataFrame(X, columns=["a", "b"])
    part = reader(names=["a", "b"])(0, frame, pd.DataFrame({"y": Y}), None)
    assert np.array_equal(part.rows, X)
    assert np.array_equal(part.target, Y)
    assert part.weight is None
    assert reader("none")(0, X, None, None).target is None
    assert reader("numbers")(0, X, Y, 2.0).weight.tolist() == [2.0] * 6


@pytest.mark.parametrize(
    ("arguments", "kind", "match"),
    [
        ((X, Y[:5], None), ValueError, "partition 7 has 6 rows of X and 5 of y"),
        ((X, Y, Y[:2]), ValueError, "partition 7 has 6 rows of X and 2 of sample_weight"),
        ((X, Y / 2, None), ValueError, "partition 7: y: "),
        ((X, Y, -Y), ValueError, "partition 7: sample_weight must not be negative"),
        ((X.astype(str).astype(object) + "x", Y, None), ValueError, "partition 7: X contains text"),
    ],
)
def test_refusals_name_the_partition(arguments, kind, match):
    refused = reader()(7, *arguments)
    assert refused.kind is kind
    assert match in refused.message


def test_empty_partitions_are_empty():
    part = reader()(0, X[:0], Y[:0], None)
    assert part.rows is None
    assert summary(part, "labels") is None


def test_a_summary_is_a_census_or_the_refusal():
    refused = Refusal(ValueError, "no")
    assert summary(refused, "labels") is refused
    census = summary(Part(X, Y, None), "labels")
    assert census.rows == 6
    assert census.labels.count.tolist() == [3, 3]
    assert summary(Part(X, Y, None), "numbers").target == (0.0, 1.0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_part_says_how_large_it_is(form):
    rows = form(np.ones((1000, 20)))
    assert sys.getsizeof(Part(rows, None, None)) >= 160_000
