"""The public strategies: frozen values with checked parameters, known by name."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

from support.machines import data, machine
from widestreet import strategies
from widestreet.strategies import ISVM, PRSVM, RSVM, RandSVM

NAMES = {"isvm": ISVM, "randsvm": RandSVM, "rsvm": RSVM, "prsvm": PRSVM}
BAD: dict[type, dict[str, list[Any]]] = {
    ISVM: {
        "sample_size": [0, -1, 1.5, "59", None, True],
        "stage_one_size": [0, 1, 2.5, None],
        "scan_fraction": [-1, 2, 1.001, np.nan, "all", None],
        "block": [0, -3, 1.5, None],
        "until_certified": ["no", None, 2],
    },
    RandSVM: {
        "epsilon": [0, -0.2, np.inf, np.nan, "small", None],
        "delta": [0, 1, 2, -0.1, np.nan, "small", None],
        "k": [0, -1, 1.5, "x", "Paper", True],
        "sample_size": [0, 1, 2.5, "many"],
        "until_certified": ["no", None, 2],
    },
    RSVM: {
        "sample_size": [0, 1, 2.5, "many"],
        "combinatorial_dimension": [0, 0.5, -1, np.nan, np.inf, "three"],
        "max_rounds": [0, -1, 1.5, "many"],
        "until_certified": ["no", None, 2],
    },
}
BAD[PRSVM] = BAD[RSVM] | {"sites": [0, -1, 1.5, "all", None]}


@pytest.mark.parametrize(("strategy", "name"), [(make, name) for make in BAD for name in BAD[make]])
def test_a_bad_parameter_is_named(strategy, name):
    for value in BAD[strategy][name]:
        with pytest.raises(ValueError, match=rf"^{name} must be .*got"):
            strategy(**{name: value})


@pytest.mark.parametrize("make", NAMES.values(), ids=NAMES)
def test_strategies_are_frozen_values(make):
    assert make() == make()
    assert hash(make()) == hash(make())
    assert make(sample_size=100) != make()
    assert replace(make(), sample_size=100) == make(sample_size=100)
    with pytest.raises(FrozenInstanceError):
        make().sample_size = 3


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ValueError, match=".*".join(f"'{name}'" for name in NAMES)):
        machine("svc", strategy="best").fit(*data("svc", 60))


def test_every_public_name_is_a_class_or_a_protocol():
    assert sorted(strategies.__all__) == sorted(set(strategies.__all__))
    assert all(isinstance(getattr(strategies, name), type) for name in strategies.__all__)
