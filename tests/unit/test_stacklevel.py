"""Warnings point at the user's own line, however deep they come from."""

from __future__ import annotations

import warnings

import pytest

from widestreet._src.stacklevel import level_of_caller

INNER = """
import warnings
from contextlib import contextmanager

def warn(depth):
    if depth:
        return warn(depth - 1)
    warnings.warn("look", UserWarning, stacklevel=level_of_caller())

@contextmanager
def context():
    warn(2)
    yield
"""


def module(name: str) -> dict:
    """A module of that name with functions that warn."""
    made = {"__name__": name, "level_of_caller": level_of_caller}
    exec(compile(INNER, f"<{name}>", "exec"), made)
    return made


@pytest.mark.parametrize("name", ["widestreet.inner", "sklearn.callback.inner"])
@pytest.mark.parametrize("depth", [0, 1, 5])
def test_frames_of_the_package_are_passed_over(name, depth):
    with pytest.warns(UserWarning, match="look") as caught:
        module(name)["warn"](depth)
    assert caught[0].filename == __file__


def test_frames_of_contextlib_are_passed_over():
    with pytest.warns(UserWarning, match="look") as caught, module("widestreet.inner")["context"]():
        pass
    assert caught[0].filename == __file__


def test_another_module_is_a_user():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module("somebody.else")["warn"](3)
    assert caught[0].filename == "<somebody.else>"


def test_code_without_a_module_is_a_user():
    nameless = {"inner": module("widestreet.inner")["warn"]}
    with pytest.warns(UserWarning, match="look") as caught:
        exec(compile("inner(1)", "<nameless>", "exec"), nameless)
    assert caught[0].filename == "<nameless>"
