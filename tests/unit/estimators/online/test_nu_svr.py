"""OnlineNuSVR: what C may mean."""

from __future__ import annotations

from support.machines import data
from support.machines import machine as batch
from support.online_machines import N, assert_same, machine


def test_c_may_mean_the_price_of_the_mean(rng):
    X, y = data("nu_svr", N)
    model = machine("nu_svr", scaling="schoelkopf", C=50.0).fit(X[:20], y[:20])
    for i in range(20, N):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same(model, batch("nu_svr", C=50.0 / N).fit(X, y), X)
