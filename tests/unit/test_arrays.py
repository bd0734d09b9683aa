"""Names of array types say which values an array has."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from widestreet._src import arrays

TYPES = {"Floats": np.float64, "Ints": np.int64, "Bools": np.bool_, "Bytes": np.uint8}


def dtype_of(name: str):
    """What the alias says of the values."""
    return get_args(get_args(getattr(arrays, name))[1])[0]


@pytest.mark.parametrize("name", TYPES)
def test_one_name_for_each_type_of_values(name):
    assert dtype_of(name) is TYPES[name]


def test_real_and_codes_are_of_several_types():
    assert issubclass(np.float32, getattr(dtype_of("Real"), "__origin__", dtype_of("Real")))
    assert issubclass(np.int8, getattr(dtype_of("Codes"), "__origin__", dtype_of("Codes")))
    assert sorted(arrays.__all__) == sorted([*TYPES, "Codes", "Real"])
