"""The null solver: the harness notices that it does nothing."""

from __future__ import annotations

import pytest

from support.experiments import check_solver, raced
from widestreet._experiments.harness.measure import measure
from widestreet._experiments.race.schedule import RACE


def test_its_solutions_are_not_certified():
    check_solver("null")


@pytest.mark.parametrize("data", ["twonorm", "friedman"])
def test_zero_coefficients_have_the_largest_gap(data):
    (found,) = measure(RACE, [raced("null", data)])
    assert found["violation"] > 1
    assert found["n_sv"] == 0
    assert found["relative_gap"] == pytest.approx(1)
