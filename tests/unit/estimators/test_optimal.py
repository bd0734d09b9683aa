"""Training to the optimum: parameters, and starts at the last solution."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from support.fitting import decision
from support.machines import assert_same_function, data, machine

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("value", [0, -1.0, "0.01", np.nan])
def test_bad_values_of_gap_tol(value):
    with pytest.raises((ValueError, TypeError), match="gap_tol"):
        ws.SVR(gap_tol=value).fit([[0.0], [1.0]], [0.0, 1.0])


def test_cache_size_is_the_memory_limit_unless_there_is_another():
    assert ws.SVR(cache_size=20)._settings().max_memory == 20_000_000
    assert ws.SVR(cache_size=20, max_memory="30MB")._settings().max_memory == 30_000_000


@pytest.mark.parametrize("kind", ["svr", "nu_svr", "one_class"])
def test_a_warm_start_changes_the_way_and_not_the_end(kind):
    X, y = data(kind)
    cold = machine(kind).fit(X, y)
    warm = machine(kind, warm_start=True).fit(X, y)
    steps = warm.n_iter_
    assert warm.fit(X, y).n_iter_ < steps
    assert_same_function(warm, cold, X)
    assert np.isfinite(decision(warm, X)).all()
