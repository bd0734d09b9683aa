"""Classifiers at the optimum: ties, and starts at the last solution."""

from __future__ import annotations

import numpy as np
import pytest

from support.class_pairs import clouds
from support.machines import assert_same_function, machine

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
def test_a_warm_start_of_several_classes_changes_the_way_and_not_the_end(kind):
    X, y = clouds()
    warm = machine(kind, warm_start=True).fit(X, y)
    steps = np.sum(warm.n_iter_)
    assert np.sum(warm.fit(X, y).n_iter_) < steps
    assert_same_function(warm, machine(kind).fit(X, y), X)


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_break_ties_is_a_flag(value):
    with pytest.raises(ValueError, match="break_ties must be True or False"):
        machine("svc", break_ties=value).fit(*clouds())
