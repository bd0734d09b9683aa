"""Checks of parameters, and the objects that they name."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.estimators import parameter_checks as module
from widestreet._src.kernels import kernels
from widestreet.strategies import ISVM


@pytest.mark.parametrize("name", module.STRATEGIES)
def test_a_name_is_the_strategy_with_its_defaults(name):
    assert module.resolve_strategy(name) == module.STRATEGIES[name]()


def test_a_strategy_object_is_used_as_it_is():
    strategy = ISVM()
    assert module.resolve_strategy(strategy) is strategy


@pytest.mark.parametrize(
    ("strategy", "error"), [("fast", ValueError), (ISVM, TypeError), (None, TypeError)]
)
def test_other_strategies_are_refused(strategy, error):
    with pytest.raises(error, match="strategy must be"):
        module.resolve_strategy(strategy)


def test_gamma_by_name_is_that_of_scikit_learn():
    assert module.resolve_gamma("auto", 4, lambda: 3.0) == pytest.approx(1 / 4, rel=TOL.twin)
    assert module.resolve_gamma("scale", 4, lambda: 0.5) == pytest.approx(1 / 2, rel=TOL.twin)
    assert module.resolve_gamma("scale", 4, lambda: 0.0) == 1.0
    assert module.resolve_gamma(2.5, 4, lambda: 0.5) == 2.5


@pytest.mark.parametrize("gamma", ["wide", -1.0, np.nan, None])
def test_other_values_of_gamma_are_refused(gamma):
    with pytest.raises((TypeError, ValueError), match="gamma"):
        module.resolve_gamma(gamma, 4, lambda: 1.0)


def test_a_kernel_takes_the_parameters_that_it_has():
    given = {"gamma": 0.5, "coef0": 1.0, "degree": 2}
    assert module.resolve_kernel("rbf", **given) == kernels.RBF(0.5)
    assert module.resolve_kernel("poly", **given) == kernels.Poly(0.5, 1.0, 2)
    assert module.uses_gamma("rbf")
    assert not module.uses_gamma("linear")
    assert not module.uses_gamma("precomputed")
    with pytest.raises(ValueError, match="kernel"):
        module.resolve_kernel(3, **given)


def test_an_integer_is_a_seed():
    one, two = (module.resolve_rng(7).random(3) for _ in range(2))
    assert np.array_equal(one, two)
    with pytest.raises(ValueError, match="random_state"):
        module.resolve_rng("seed")


@pytest.mark.parametrize("class_weight", ["heavy", 3, {0: -1.0}])
def test_class_weights_that_are_refused(class_weight):
    with pytest.raises(ValueError, match="class_weight"):
        module.check_class_weight(class_weight)


def test_ties_are_broken_only_between_classes():
    assert module.breaks_ties(True, "ovr")
    with pytest.raises(ValueError, match="break_ties"):
        module.breaks_ties(True, "ovo")
