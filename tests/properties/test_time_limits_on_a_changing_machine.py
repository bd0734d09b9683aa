"""Limits of time on a machine whose pace changes during the fit; its clock is simulated."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import widestreet as ws
from support.clocks import SimulatedMachine
from widestreet._src.engines import forecast
from widestreet._src.training import examiner
from widestreet.datasets import twonorm
from widestreet.strategies import PRSVM, Auto

LIMIT = 60.0  # seconds
PACE = 8e-6  # seconds of a kernel value: those of all rows and all support vectors take a third
SLOWER = 5.0
ROWS, PIECE, LEAST = 2000, 48, 8

STRATEGIES = {
    "auto": Auto(start_size=64, max_size=256),
    "prsvm": PRSVM(sample_size=256, sites=4),
}


def fit_on(monkeypatch, pace, strategy="auto"):
    """Return the clock after a fit that does not end before its time limit, and its model."""
    monkeypatch.setattr(forecast, "_PROBED_VALUES", 20_000)
    monkeypatch.setattr(examiner, "LEAST_SAMPLED_ROWS", LEAST)
    X, y = twonorm(ROWS, random_state=0)
    y = np.where(np.random.default_rng(0).random(ROWS) < 0.2, -y, y)
    model = ws.SVC(
        C=1.0, gamma=0.05, tol=1e-9, strategy=STRATEGIES[strategy], max_time=LIMIT, random_state=0
    )
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clock = SimulatedMachine(patch, pace)
        model.fit(X, y)
    return clock, model


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("begins", [0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
def test_a_machine_that_becomes_slower_ends_in_time(strategy, begins, monkeypatch):
    """The last native call and the smallest sample may end late."""
    clock, model = fit_on(
        monkeypatch, lambda now: PACE * (SLOWER if now > begins * LIMIT else 1.0), strategy
    )
    support = len(model.support_)
    late = SLOWER * PACE * support * (PIECE + 2 * LEAST)
    assert model.certificate_.status == "time_limit"
    assert clock.now <= LIMIT + late
    known = model.certificate_.relative_gap, model.certificate_.estimated_gap
    assert np.isfinite(known[0]) or known[1] is not None


@pytest.mark.in_process("the pace of rows elsewhere is that of large questions, not of so few rows")
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("begins", [0.02, 0.1, 0.2, 0.3])
def test_a_machine_that_is_slow_for_a_moment_is_used_to_the_end(strategy, begins, monkeypatch):
    def pace(now):
        return PACE * (10 if begins * LIMIT < now < (begins + 0.05) * LIMIT else 1.0)

    clock, model = fit_on(monkeypatch, pace, strategy)
    assert clock.now >= 0.85 * LIMIT
    assert np.isfinite(model.certificate_.relative_gap)


@pytest.mark.parametrize("slower", [1.0, SLOWER])
@pytest.mark.parametrize("begins", [0.0, 0.2, 0.4])
def test_an_ensemble_is_certified_in_time(begins, slower, monkeypatch):
    """Kernel values are computed in every step, so that their pace is known."""
    X, y = twonorm(300, random_state=0)
    model = ws.EnsembleSVC(
        gamma=0.05, learning_rate=1e-6, max_iter=-1, max_time=LIMIT, max_memory="1MB"
    )
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pace = [PACE, PACE * slower]
        clock = SimulatedMachine(patch, lambda now: pace[now > begins * LIMIT])
        model.fit(X, y)
    assert model.certificate_.status == "time_limit"
    assert model.certificate_.n_rows == 300
    assert 0.8 * LIMIT <= clock.now <= LIMIT + PIECE * 300 * PACE * slower
