"""Estimators of the playground: their parameters and their rows."""

from __future__ import annotations

import pytest

from widestreet._src.playground.machines import (
    MACHINES,
    SLIDERS,
    TABS,
    Point,
    checked_parameters,
    starting_parameters,
)

POINTS = [Point(0, 0.5, -0.25, 1), Point(1, -1.0, 0.75, 0)]


@pytest.mark.parametrize("name", MACHINES)
def test_starting_parameters_are_valid(name):
    start = starting_parameters(name)
    assert checked_parameters(name, start) == start
    assert MACHINES[name].batch(**start).get_params().items() >= start.items()


def test_every_estimator_has_one_tab():
    assert sorted(name for names in TABS.values() for name in names) == sorted(MACHINES)


def test_rows_of_points():
    assert MACHINES["svc"].rows(POINTS) == ([[0.5, -0.25], [-1.0, 0.75]], [1, 0])
    assert MACHINES["svr"].rows(POINTS) == ([[0.5], [-1.0]], [-0.25, 0.75])
    assert MACHINES["one_class"].rows(POINTS) == ([[0.5, -0.25], [-1.0, 0.75]],)


@pytest.mark.parametrize(
    "given",
    [
        {"C": 0.0},
        {"C": "1"},
        {"C": True},
        {"C": float("nan")},
        {"C": 2 * SLIDERS["C"].high},
        {"kernel": "poly"},
        {"kernel": None},
        {"epsilon": 0.1},
        {"n_jobs": 8},
        {"": 1},
    ],
    ids=str,
)
def test_other_parameters_are_refused(given):
    with pytest.raises(ValueError, match=r"must be|has no parameter"):
        checked_parameters("svc", given)
