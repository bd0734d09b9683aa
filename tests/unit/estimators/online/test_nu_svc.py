"""OnlineNuSVC: values of nu that the classes allow."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

from support.machines import data
from support.machines import machine as batch
from support.online_machines import N, assert_same, machine


def test_nu_that_the_classes_do_not_allow_is_lowered_with_a_warning():
    X, y = data("nu_svc", N)
    few = np.r_[np.flatnonzero(y < 0)[:3], np.flatnonzero(y > 0)]
    model = machine("nu_svc", nu=0.6)
    with pytest.warns(UserWarning, match="nu=0.6 is infeasible") as caught:
        model.fit(X[few], y[few])
    assert {one.filename for one in caught} == {__file__}
    assert_same(model, batch("nu_svc", nu=2 * 3 / len(few)).fit(X[few], y[few]), X)
    with pytest.warns(UserWarning, match="infeasible") as caught:
        model.partial_fit(X[few[:1]], y[few[:1]])
    assert {one.filename for one in caught} == {__file__}
    with pytest.warns(UserWarning, match="infeasible") as caught:
        model.forget(0)
    assert {one.filename for one in caught} == {__file__}
    rest = np.setdiff1d(np.arange(N), few)
    model.partial_fit(X[rest], y[rest])
    every = np.r_[few[1:], few[0], rest]
    assert_same(model, batch("nu_svc", nu=0.6).fit(X[every], y[every]), X)


def test_a_street_of_no_width_is_warned_of_once_a_call():
    """The same rows in both classes, until they go and others that can be told apart are left."""
    X, _ = data("nu_svc", 10)
    y = np.repeat([-1, 1], 10)
    model = machine("nu_svc", kernel="linear", nu=0.5, tol=Fraction(1, 1000))
    calls = (
        lambda: model.fit(np.vstack([X, X]), y),
        lambda: model.partial_fit(np.vstack([X[:2], X[:2]]), [-1, -1, 1, 1]),
        lambda: model.forget([0, 10]),
    )
    for call in calls:
        with pytest.warns(UserWarning, match=r"margin is zero .*-1 against 1.*raise nu") as caught:
            call()
        assert [one.filename for one in caught] == [__file__]
        assert np.isfinite(model.decision_function(X)).all()
    before, apart = model.ids_, np.vstack([X - 50.0, X + 50.0])
    with pytest.warns(UserWarning, match="the margin is zero"):
        model.partial_fit(apart, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.forget(before)
    assert (model.predict(apart) == y).all()
