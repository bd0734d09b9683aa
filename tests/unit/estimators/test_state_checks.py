"""States that were read from a file: wrong ones are refused before they reach native code."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from support.fitted_models import fitted, names, online_names
from widestreet._src.estimators.state_checks import check_fitted, check_rows
from widestreet.online import OnlineSVC


def fitted_of(name):
    return fitted(name).model.__getstate__()["fitted"]


def test_states_of_all_models_are_accepted():
    for name in names() + online_names():
        state = fitted(name).model.__getstate__()
        check_fitted(type(fitted(name).model), state["fitted"])
        if "rows" in state:
            check_rows(state["rows"], state["fitted"])


WRONG = {
    "support_": np.arange(3),
    "dual_coef_": np.ones((2, 5)),
    "support_vectors_": np.ones((4, 4)),
    "n_support_": np.array([1, 1]),
    "intercept_": np.array([np.nan]),
    "_centre": np.zeros(7),
    "_kernel": {"name": "rbf", "gamma": -1.0},
    "_rho": np.zeros(0),
    "class_weight_": np.ones(2, np.float32),
    "classes_": np.array([1, 1]),
    "n_features_in_": -1,
    "shape_fit_": [3, 99],
    "_scale": "1",
    "predict": 3,
}


@pytest.mark.parametrize("name", WRONG)
def test_one_wrong_attribute_is_enough(name):
    with pytest.raises((ValueError, TypeError)):
        check_fitted(ws.SVC, fitted_of("svc/rbf/dense") | {name: WRONG[name]})


def test_values_that_are_not_finite_or_of_another_byte_order():
    state = fitted_of("svc/rbf/dense")
    vectors = state["support_vectors_"]
    for wrong in (np.full_like(vectors, np.inf), vectors.astype(">f8"), vectors.astype(int)):
        with pytest.raises(ValueError, match="support_vectors_"):
            check_fitted(ws.SVC, state | {"support_vectors_": wrong})


def test_a_kernel_matrix_has_room_for_all_support_vectors():
    state = fitted_of("svr/precomputed/dense")
    with pytest.raises(ValueError, match="beyond the kernel matrix"):
        check_fitted(ws.SVR, state | {"support_": state["support_"] + 60})


def test_stages_must_fit_their_rows():
    state = fitted_of("ensemble/rbf/dense")
    stages = state["_stages"]
    for wrong in ({"rows": [stages["rows"][0] + 999]}, {"coefs": []}, {"column": np.arange(3)}):
        with pytest.raises(ValueError, match="stages"):
            check_fitted(ws.EnsembleSVC, state | {"_stages": stages | wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"ids": np.zeros(60, dtype=np.int64)},
        {"arrived": 3},
        {"weight": -np.ones(60)},
        {"target": np.full(60, 7.0)},
        {"classes": np.array([3, 4])},
        {"seen": {}},
        {"centre": np.zeros(9)},
    ],
)
def test_rows_of_online_estimators(wrong):
    model = fitted("online svc/rbf/dense").model
    assert isinstance(model, OnlineSVC)
    state = model.__getstate__()
    with pytest.raises(ValueError, match=r"."):
        check_rows(state["rows"] | wrong, state["fitted"])


def test_problems_have_the_rows_of_their_classes():
    state = fitted("online svc of three/rbf/dense").model.__getstate__()
    one, *others = state["rows"]["problems"]
    for wrong in ({"key": [1, 0]}, {"members": one["members"][1:]}, {"beta": one["beta"][:, 1:]}):
        with pytest.raises(ValueError, match=r"."):
            check_rows(state["rows"] | {"problems": [one | wrong, *others]}, state["fitted"])
