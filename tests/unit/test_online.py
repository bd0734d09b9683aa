"""The public online machines: one beside each batch estimator, and a function that loads them."""

from __future__ import annotations

import pytest

import widestreet as ws
from widestreet import online

MACHINES = [name for name in online.__all__ if name.startswith("Online")]


def test_there_is_one_beside_each_estimator():
    single = {"SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"}
    assert {name.removeprefix("Online") for name in MACHINES} == single
    assert single <= set(ws.__all__)


@pytest.mark.parametrize("name", MACHINES)
def test_parameters_of_the_same_name_are_those_of_the_batch_estimator(name):
    """But for tol, which an exact machine does not need, and what only one of them has."""
    mine = getattr(online, name)().get_params()
    batch = getattr(ws, name.removeprefix("Online"))().get_params()
    shared = mine.keys() & batch.keys() - {"tol"}
    assert {"kernel", "gamma", "degree", "coef0", "n_jobs"} <= shared
    assert {key: mine[key] for key in shared} == {key: batch[key] for key in shared}


@pytest.mark.parametrize("name", MACHINES)
def test_rows_come_and_go(name):
    public = {"fit", "partial_fit", "forget", "change_weight", "verify", "leave_one_out", "save"}
    assert public <= set(dir(getattr(online, name)))
