"""Which dual the rows of an online machine make."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.problems.formulations import CSVC, EpsilonSVR, NuSVC

CODE, WEIGHT = np.array([3.0, 5.0, 3.0, 5.0, 5.0]), np.array([1.0, 2.0, 0.5, 1.0, 0.0])
SIGN = np.where(CODE == 3, -1.0, 1.0)


def assert_equal(one, other) -> None:
    for name in ("target", "lower", "upper", "group", "total"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_values_are_the_targets_of_the_formulation(rng):
    formulation, y = EpsilonSVR(C=2.0, epsilon=0.1), rng.normal(size=5)
    found = OnlineProblem(formulation).dual(y, WEIGHT)
    assert_equal(found, formulation.dual(y, formulation.box(WEIGHT)))


@pytest.mark.parametrize("factors", [(1.0, 1.0), (2.0, 0.5)])
def test_the_first_class_is_negative_and_classes_have_weights(factors):
    formulation = CSVC(C=2.0)
    found = OnlineProblem(formulation, 3, factors).dual(CODE, WEIGHT)
    weight = WEIGHT * np.where(SIGN < 0, *factors)
    assert_equal(found, formulation.dual(SIGN, formulation.box(weight)))


def test_the_nearest_nu_that_the_classes_allow_is_taken():
    """The classes weigh 1.5 and 3: nu is at most 2 * 1.5 / 4.5."""
    large, small = OnlineProblem(NuSVC(nu=0.9), 3), OnlineProblem(NuSVC(nu=0.5), 3)
    assert small.is_feasible(CODE, WEIGHT)
    assert small.feasible(CODE, WEIGHT) == small.formulation
    assert not large.is_feasible(CODE, WEIGHT)
    assert large.feasible(CODE, WEIGHT).nu == pytest.approx(2 / 3)
    assert_equal(
        large.dual(CODE, WEIGHT),
        OnlineProblem(large.feasible(CODE, WEIGHT), 3).dual(CODE, WEIGHT),
    )
