"""OnlineNuSVR: what C may mean."""

from __future__ import annotations

import numpy as np

from support.machines import data
from support.machines import machine as batch
from support.online_machines import N, assert_same, machine
from widestreet._src.engines.insvr.three_stages import StageCounts
from widestreet.online import OnlineNuSVR, load


def test_c_may_mean_the_price_of_the_mean(rng):
    X, y = data("nu_svr", N)
    model = machine("nu_svr", scaling="schoelkopf", C=50.0).fit(X[:20], y[:20])
    for i in range(20, N):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same(model, batch("nu_svr", C=50.0 / N).fit(X, y), X)


def test_fit_does_not_ask_for_the_weights_of_rows_that_it_forgets():
    X, y = data("nu_svr", 30)
    model = OnlineNuSVR(gamma=1.0).fit(X, y, np.full(30, 0.5))
    assert model.set_params(method="insvr").fit(X, y).n_rows_ == 30


def test_a_loaded_machine_has_counted_nothing(tmp_path):
    X, y = data("nu_svr", 30)
    model = OnlineNuSVR(gamma=1.0, method="insvr").fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").insvr_counts_ == StageCounts()
