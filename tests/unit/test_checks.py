"""Checks of parameters: good values pass, bad ones are named with the values that are valid."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._src import checks

CHECKS = {
    "integer": (
        lambda value: checks.require_integer("k", value, least=2, most=9, none="None"),
        {2: 2, np.int64(5): 5},
        [1, 10, 2.0, True, "2", None],
    ),
    "flag": (
        lambda value: checks.require_flag("k", value),
        {True: True, np.False_: False},
        [0, 1, None, "yes"],
    ),
    "open interval": (
        lambda value: checks.require_real("k", value, above=0.0, below=1.0),
        {0.5: 0.5, np.float32(0.25): 0.25},
        [0, 1, np.nan, np.inf, "0.5", True, 10**400],
    ),
    "closed interval": (
        lambda value: checks.require_real("k", value, least=0.0, most=1.0),
        {0: 0.0, 1.0: 1.0},
        [-0.1, 1.1, None],
    ),
    "limit": (lambda value: checks.require_limit("k", value), {-1: -1, 7: 7}, [0, -2, 1.5, True]),
    "level": (lambda value: checks.require_level("k", value), {True: 1, 2: 2}, [-1, 1.5, None]),
    "choice": (
        lambda value: checks.require_choice("k", value, ("one", "two")),
        {"one": "one"},
        ["three", None, 1],
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_bad_parameter_is_named(name):
    check, good, bad = CHECKS[name]
    for value, found in good.items():
        assert check(value) == found
        assert type(check(value)) is type(found)
    for value in bad:
        with pytest.raises(ValueError, match=r"^k must be .*, got "):
            check(value)


def test_long_values_are_shortened_in_messages():
    for value in (list(range(10**5)), np.arange(10.0**5), "x" * 10**5, 10**4000):
        with pytest.raises(ValueError, match="got") as error:
            checks.require_choice("name", value, ("a", "b"))
        assert len(str(error.value)) < 300
