"""Trees of plain values: divided into JSON and arrays, and joined again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from widestreet._src.persistence.tree import join, split


def test_a_tree_comes_back_with_its_arrays():
    tree = {
        "b": [np.arange(3), {"c": np.eye(2)}],
        "a": {"matrix": sparse.csr_matrix(np.eye(3)), "text": "x", "none": None},
        "number": 0.1,
    }
    values, arrays = split(tree)
    assert list(arrays) == ["a.matrix", "b.0", "b.1.c"]
    found = join(values, arrays)
    assert found["b"][0] is tree["b"][0]
    assert found["b"][1]["c"] is tree["b"][1]["c"]
    assert found["a"] == tree["a"]
    assert found["number"] == 0.1


def test_the_order_of_keys_does_not_matter():
    one, other = split({"x": 1, "a": np.eye(2), "c": {}}), split({"c": {}, "a": np.eye(2), "x": 1})
    assert list(one[0].items()) == list(other[0].items())
    assert list(one[1]) == list(other[1])


@pytest.mark.parametrize("tree", [{1: 2}, {"$array": 3}])
def test_keys_that_are_no_names_are_refused(tree):
    with pytest.raises(TypeError, match="names"):
        split({"a": tree})


def test_two_arrays_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"two arrays .*a\.b"):
        split({"a.b": np.eye(2), "a": {"b": np.eye(2)}})


def test_an_array_that_is_missing():
    values, _ = split({"a": np.eye(2)})
    with pytest.raises(KeyError):
        join(values, {})
