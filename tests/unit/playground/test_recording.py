"""Recordings of changes: optima at breakpoints, thinned."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.playground.recording import Recording, optima_of, recorded
from widestreet.online import OnlineSVC, OnlineSVR


@pytest.fixture
def machine(rng):
    X = rng.normal(size=(60, 2))
    return OnlineSVC(C=1.0, gamma=1.0).fit(X, (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int))


def test_every_snapshot_of_a_change_of_C_is_an_optimum(machine):
    rows, labels = machine._state.store.X.copy(), machine._state.store.target.astype(int)
    with recorded(machine, 1000) as found:
        machine.set_params(C=9.0).forget([])
    assert found.pieces == len(found.snapshots) > 5
    for one in found.snapshots[:: max(1, found.pieces // 5)]:
        there = OnlineSVC(C=1.0 + 8.0 * one.theta, gamma=1.0).fit(rows, labels)
        [optimum] = optima_of(there)
        coef = np.zeros(60)
        coef[one.ids] = one.coef
        np.testing.assert_allclose(coef, optimum.coef, atol=TOL.decision)
        np.testing.assert_allclose(one.bias, optimum.bias, atol=TOL.decision)
        box = 1.0 + 8.0 * one.theta
        inside = (np.abs(coef) > TOL.decision) & (np.abs(coef) < box - TOL.decision)
        assert set(np.flatnonzero(inside)) <= set(one.ids[one.free])


def test_snapshots_are_thinned_evenly(machine):
    with recorded(machine, 8) as found:
        machine.set_params(C=100.0).forget([])
    assert found.pieces > 8
    assert 4 <= len(found.snapshots) <= 8
    thetas = [one.theta for one in found.snapshots]
    assert thetas[0] == 0.0
    assert thetas == sorted(thetas)


def test_nothing_is_recorded_after_the_block(machine):
    with recorded(machine, 8) as found:
        pass
    machine.set_params(C=2.0).forget([])
    assert found.snapshots == []
    assert all(one.observe is None for one in optima_of(machine))


def test_a_change_that_fails_ends_the_recording(machine):
    observed = optima_of(machine)
    with pytest.raises(ValueError, match="no row 999"), recorded(machine, 8):
        machine.forget(999)
    assert all(one.observe is None for one in observed)


def test_an_estimator_without_rows_has_no_optima():
    assert optima_of(OnlineSVR()) == []
    assert Recording(3).snapshots == []
