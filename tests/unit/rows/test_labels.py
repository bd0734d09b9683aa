"""Labels of classes, counted in parts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from widestreet._src.rows.labels import Labels, encoded, first_missing


def test_classes_are_counted_with_their_weights():
    found = Labels.of(["b", "a", "b", "c"], np.array([1.0, 2.0, 3.0, 0.0]))
    assert found.classes.tolist() == ["a", "b", "c"]
    assert found.count.tolist() == [1, 2, 1]
    assert found.positive.tolist() == [1, 2, 0]
    assert found.weight.tolist() == [2.0, 4.0, 0.0]


def test_classes_of_parts_are_united():
    ones = np.ones(2)
    parts = [Labels.of(["long label", "b"], ones), Labels.of(["a", "a"], ones)]
    for order in (parts, parts[::-1]):
        found = Labels.merged(order)
        assert found.classes.tolist() == ["a", "b", "long label"]
        assert found.count.tolist() == [2, 1, 1]


def test_text_and_numbers_are_not_united():
    one = np.ones(1)
    with pytest.raises(ValueError, match="all text or all numbers"):
        Labels.merged([Labels.of(["1"], one), Labels.of([1], one)])
    with pytest.raises(ValueError, match="all text or all numbers"):
        Labels.of(np.array(["1", 1], dtype=object), np.ones(2))


def test_of_labels_that_are_not_whole_one_is_kept():
    found = Labels.of(np.linspace(0.0, 1.0, 1001), np.ones(1001))
    assert len(found.classes) == 1
    assert found.classes[0] == 0.001


@pytest.mark.parametrize(
    "y",
    [
        np.array([1.0, np.nan, np.nan]),
        np.array(["a", None, "b"], dtype=object),
        np.array(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", pd.NA, "b"], dtype="string"),
    ],
)
def test_the_first_missing_label_is_found(y):
    assert first_missing(y) == 1


def test_no_label_is_missing():
    assert first_missing(["a", "b"]) is None
    assert first_missing([1, 2]) is None
    assert first_missing([1.0, 2.0]) is None


@pytest.mark.parametrize("dtype", [None, object])
def test_labels_are_encoded_by_their_order(dtype):
    classes, code = encoded(np.array(["b", "a", "c", "a"], dtype=dtype))
    assert classes.tolist() == ["a", "b", "c"]
    assert code.tolist() == [1, 0, 2, 0]
