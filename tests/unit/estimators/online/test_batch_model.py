"""Models of online estimators as batch estimators, and made smaller."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from conftest import TOL
from support.fitting import decision
from support.online_files import MACHINES, add, data, fresh
from widestreet._src.estimators.online.batch_model import as_batch


@pytest.mark.parametrize("kind", MACHINES)
def test_the_model_is_the_same(kind):
    X, y = data(kind)
    machine = fresh(kind)
    add(machine, kind, X, y)
    model = as_batch(machine)
    assert type(model).__name__ == type(machine).__name__.removeprefix("Online")
    np.testing.assert_array_equal(decision(model, X), decision(machine, X))
    assert model.certificate_ == machine.certificate_
    shared = model.get_params().keys() & machine.get_params().keys()
    assert all(getattr(model, name) == getattr(machine, name) for name in shared)


@pytest.mark.parametrize("kind", MACHINES)
def test_a_smaller_model(kind, tmp_path, rng):
    X, y = data(kind)
    machine = fresh(kind).set_params(kernel="rbf", gamma=0.1)
    add(machine, kind, X, y)
    before = len(machine.support_)
    small = machine.compact(0.3)
    Z = rng.normal(size=(500, X.shape[1]))
    by_pairs = {"decision_function_shape": "ovo"} if hasattr(machine, "classes_") else {}
    values = [decision(one.set_params(**by_pairs), Z) for one in (small, machine)]
    assert np.abs(values[0] - values[1]).max() <= small.compaction_.bound + TOL.exact
    assert small.compaction_.bound <= 0.3
    assert small.compaction_.n_before == before == len(machine.support_)
    small.save(tmp_path / "small.street")
    again = decision(ws.load(tmp_path / "small.street"), Z)
    np.testing.assert_array_equal(again, values[0])
