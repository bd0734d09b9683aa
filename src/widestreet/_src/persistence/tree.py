"""Trees of plain values, divided into JSON and arrays.

A tree consists of dictionaries with strings as keys, lists, numbers, strings, booleans, None,
ndarrays and CSR matrices. `split` replaces every array by its name, which is the path to it, and
returns the arrays separately; `join` restores the tree. Keys are sorted, so that equal trees have
equal files.

>>> import numpy as np
>>> from widestreet._src.persistence.tree import join, split
>>> values, arrays = split({"gamma": 0.5, "model": {"alpha": np.arange(3.0)}})
>>> values
{'gamma': 0.5, 'model': {'alpha': {'$array': 'model.alpha'}}}
>>> arrays
{'model.alpha': array([0., 1., 2.])}
>>> join(values, arrays)["model"]
{'alpha': array([0., 1., 2.])}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["join", "split"]

_ARRAY = "$array"


def split(tree: Any) -> tuple[Any, dict[str, Any]]:
    """Return a tree with names in place of arrays, and the arrays by name."""
    arrays: dict[str, Any] = {}
    return _split(tree, "", arrays), arrays


def _split(tree: Any, path: str, arrays: dict[str, Any]) -> Any:
    """Return a tree with names in place of arrays. Sets: arrays."""
    if isinstance(tree, np.ndarray) or sparse.issparse(tree):
        if path in arrays:
            raise ValueError(f"two arrays have the name {path!r}")
        arrays[path] = tree
        return {_ARRAY: path}
    if isinstance(tree, list | tuple):
        return [_split(value, f"{path}.{i}", arrays) for i, value in enumerate(tree)]
    if not isinstance(tree, Mapping):
        return tree
    for key in tree:
        if not isinstance(key, str) or key == _ARRAY:
            raise TypeError(f"{path} has the key {key!r}, but keys must be names")
    return {
        key: _split(tree[key], f"{path}.{key}" if path else key, arrays) for key in sorted(tree)
    }


def join(tree: Any, arrays: Mapping[str, Any]) -> Any:
    """Return the tree that `split` divided; an array that is missing raises KeyError."""
    if isinstance(tree, list):
        return [join(value, arrays) for value in tree]
    if not isinstance(tree, dict):
        return tree
    if set(tree) == {_ARRAY}:
        return arrays[tree[_ARRAY]]
    return {key: join(value, arrays) for key, value in tree.items()}
