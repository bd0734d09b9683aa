"""Public classes and functions say where users find them."""

from __future__ import annotations

import importlib
import pickle

import pytest

from widestreet._src.public import set_home

HOMES = ("widestreet", "widestreet.io", "widestreet.online", "widestreet.strategies")


@pytest.mark.parametrize("home", HOMES)
def test_every_public_name_says_its_public_home(home):
    module = importlib.import_module(home)
    for name in module.__all__:
        value = getattr(module, name)
        if hasattr(value, "__module__"):
            assert value.__module__ in HOMES
            assert getattr(importlib.import_module(value.__module__), name) is value
            assert pickle.loads(pickle.dumps(value)) is value


def test_only_classes_and_functions_are_moved():
    class One:
        pass

    def two() -> None:
        pass

    one = One()
    set_home("somewhere", ["One", "two", "one"], {"One": One, "two": two, "one": one})
    assert One.__module__ == two.__module__ == "somewhere"
    assert "__module__" not in vars(one)
