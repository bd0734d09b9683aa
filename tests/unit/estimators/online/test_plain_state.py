"""Rows and optima of online estimators in plain values; optima are restored when needed."""

from __future__ import annotations

import numpy as np

from support.fitted_models import fitted, online_names
from support.online_files import values
from widestreet._src.estimators.online.plain_state import rows_of, state_from
from widestreet.online import OnlineNuSVR, OnlineSVR


def test_variables_come_back_as_they_were():
    for name in online_names():
        model = fitted(name).model
        rows = rows_of(model._state)
        state = state_from(model, rows)
        assert not state.optima
        again = rows_of(state)
        for one, other in zip(rows["problems"], again["problems"], strict=True):
            assert one["key"] == other["key"]
            assert np.array_equal(one["beta"], other["beta"])
        assert np.array_equal(rows["X"], again["X"])
        assert np.array_equal(rows["ids"], again["ids"])


def test_optima_are_restored_by_the_first_call_that_needs_them():
    model, X, _, _ = fitted("online svr/rbf/dense")
    other = OnlineSVR()
    other.__setstate__(model.__getstate__())
    before = values(other, X)
    assert not other._state.optima
    assert other.verify().status == "optimal"
    assert not other._state.known
    assert np.array_equal(values(other, X), before)


def test_parameters_that_changed_after_the_fit_lead_to_their_own_optimum():
    """The variables need not satisfy the new constraints."""
    _, X, y, _ = fitted("online svr/rbf/dense")
    model = OnlineSVR(C=10.0, gamma=1.0).fit(X, y).set_params(C=0.1)
    other = OnlineSVR()
    other.__setstate__(model.__getstate__())
    assert np.array_equal(values(other, X), values(model, X))
    other.partial_fit(X[:1] + 1, y[:1])
    model.partial_fit(X[:1] + 1, y[:1])
    np.testing.assert_allclose(values(other, X), values(model, X), atol=1e-9)


def test_certificates_and_counts_are_kept():
    _, X, y, _ = fitted("online nu_svr/rbf/dense")
    model = OnlineNuSVR(gamma=1.0, method="insvr").fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    model.verify()
    state = state_from(model, rows_of(model._state))
    assert state.counts == model._state.counts
    assert state.proof == model._state.proof
