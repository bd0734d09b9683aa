"""Errors, warnings and parameters from a census are those from rows in memory."""

from __future__ import annotations

import re

import numpy as np
import pytest

import widestreet as ws
from widestreet._src.estimators.census_checks import (
    checked,
    class_weights,
    classes_of,
    describe,
    kernel_for,
)
from widestreet._src.files.stream import Stream
from widestreet._src.rows.census import Census
from widestreet._src.rows.faults import Fault
from widestreet._src.rows.labels import Labels

X = np.random.default_rng(0).normal(size=(100, 3))


def census(X):
    return Census.merged([Census.of(X[:30]), Census.of(X[30:])])


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7])
def test_gamma_is_that_of_rows_in_memory(gamma):
    model = ws.SVC(gamma=gamma)
    kernel = kernel_for(model, census(X), None)
    model.fit(X, X[:, 0] > 0)
    assert kernel.gamma == pytest.approx(model._gamma, rel=1e-12)


def test_values_that_are_too_large_or_differ_in_scale():
    with pytest.raises(ValueError, match="values as large as 1e\\+20"):
        kernel_for(ws.SVC(), census(np.where(X > 2, 1e20, X)), None)
    with pytest.raises(ValueError, match="degree=9"):
        kernel_for(ws.SVC(kernel="poly", degree=9, gamma=1.0), census(X * 1e10), None)
    with pytest.warns(UserWarning, match=r"column 'b' varies .* times as"):
        kernel_for(ws.SVC(), census(X * [1.0, 1e6, 1.0]), ["a", "b", "c"])


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 3.0, 2: 0.5}])
def test_weights_of_classes_are_those_of_rows_in_memory(class_weight):
    y = np.arange(100) % 5 // 2  # 0, 1 and 2
    weight = np.where(y == 0, 0.0, np.arange(100.0))
    labels = classes_of(
        Labels.merged([Labels.of(y[:30], weight[:30]), Labels.of(y[30:], weight[30:])])
    )
    assert labels.classes.tolist() == [1, 2]
    model = ws.SVC(class_weight=class_weight).fit(X, y, weight)
    found = class_weights(class_weight, labels)
    assert found == pytest.approx(model.class_weight_, rel=1e-12)


def test_one_class_is_not_enough():
    with pytest.raises(ValueError, match="1 class, 7"):
        classes_of(Labels.of(np.full(5, 7), np.ones(5)))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault("X", "NaN", 3, 1), "X contains NaN in column 'b', row 3: impute"),
        (Fault("X", "infinity", 3, 1), "X contains infinity in column 'b', row 3: replace"),
        (Fault("y", "NaN", 3), "y contains NaN in row 3: drop those rows"),
        (Fault("sample_weight", "NaN", 3), "sample_weight contains NaN in row 3: drop"),
        (Fault("y", "a missing label", 3), "y contains a missing label .* in row 3: remove"),
        (
            Fault("sample_weight", "a negative value", 3),
            "sample_weight must not be .* in row 3: use",
        ),
    ],
)
def test_faults_are_described(fault, message):
    assert re.match(message, describe(fault, f"row {fault.row}", ["a", "b", "c"]))


@pytest.mark.parametrize("labels", [False, True])
def test_an_invalid_value_of_a_stream_is_named_with_its_place(tmp_path, labels):
    rows = np.column_stack([X, np.arange(100) % 2, np.ones(100)])
    for column, value, match in (
        (1, np.nan, "X contains NaN in column 1, row 70 of "),
        (4, -1.0, "sample_weight must not be negative, but it is in row 70 of "),
        (3, np.nan, f"y contains {'a missing label .*' if labels else 'NaN'} in row 70 of "),
    ):
        bad = rows.copy()
        bad[70, column] = value
        np.save(tmp_path / "rows.npy", bad)
        stream = Stream(*ws.open_rows(tmp_path / "rows.npy", target=3, weight=4))
        with pytest.raises(ValueError, match=match + ".*rows.npy"):
            list(checked(stream, labels=labels))


def test_a_stream_of_valid_values_is_unchanged(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    stream = Stream(ws.open_rows(tmp_path / "rows.npy", dtype="float64")[0], np.full(100, "text"))
    [(rows, y, weight)] = checked(stream)
    assert np.array_equal(rows, X)
    assert y.tolist() == ["text"] * 100
    assert weight is None
