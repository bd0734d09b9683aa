"""Online classifiers: classes that come late and vanish."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import OF_THREE, TOL
from support.machines import CLASSIFIERS, data
from support.machines import machine as batch
from support.online_machines import N, add, assert_same, begun, fit, machine, mixed
from widestreet.online import OnlineSVC


@pytest.fixture
def rows(kind):
    return mixed(kind)


@pytest.fixture
def model(kind):
    return begun(kind)


@pytest.mark.parametrize("kind", [k for k in CLASSIFIERS if k.startswith("svc")])
def test_class_weights_change_with_the_next_call(kind, model, rows):
    X, y = rows
    new = {int(y[0]): 5.0}
    model.set_params(class_weight=new)
    add(model, kind, X[30:], y[30:])
    assert_same(model, fit(batch(kind, class_weight=new), kind, X, y), X)
    np.testing.assert_array_equal(model.class_weight_, [new.get(c, 1.0) for c in model.classes_])


@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
def test_classes_may_come_late_and_vanish(kind, announced):
    X, y = data(kind + OF_THREE, N)
    y = np.array(["mid", "late", "zoo"])[y]
    order = np.argsort(y, kind="stable")[::-1]  # zoo, mid, late
    X, y = X[order], y[order]
    model = machine(kind, decision_function_shape="ovo")
    model.partial_fit(X[:6], y[:6])
    assert (model.classes_.tolist(), model.n_rows_) == (["zoo"], 6)
    model.partial_fit(X[6:20], y[6:20])
    classes = ["late", "mid", "other", "zoo"] if announced else None
    model.partial_fit(X[20:], y[20:], classes=classes)
    assert model.classes_.tolist() == sorted({*y, *(classes or [])})
    three = fit(batch(kind, decision_function_shape="ovo"), kind, X, y)
    there = [0, 2, 4] if announced else [0, 1, 2]  # pairs without "other"
    np.testing.assert_allclose(
        model.decision_function(X)[:, there], three.decision_function(X), rtol=0, atol=TOL.decision
    )
    np.testing.assert_array_equal(model.predict(X), three.predict(X))
    model.forget(model.ids_[y == "mid"])
    two = fit(batch(kind), kind, X[y != "mid"], y[y != "mid"])
    np.testing.assert_array_equal(model.predict(X), two.predict(X))
    model.forget(model.ids_[np.array([label for label in y if label != "mid"]) == "zoo"])
    assert (model.predict(X) == "late").all()
    assert model.verify().status == "optimal"


def test_one_class_is_enough_for_partial_fit_but_not_for_fit():
    X, _ = data("svc", 10)
    assert (OnlineSVC().partial_fit(X, np.ones(10)).n_rows_) == 10
    with pytest.raises(ValueError, match="1 class"):
        OnlineSVC().fit(X, np.ones(10))
    model = OnlineSVC().partial_fit(X, np.ones(10), classes=[0, 1])
    assert (model.predict(X) == 1).all()
