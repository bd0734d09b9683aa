"""Estimators from coefficients that were computed elsewhere."""

from __future__ import annotations

import numpy as np

import widestreet as ws
from widestreet._src.interchange.assembling import assembled
from widestreet._src.kernels.kernels import RBF, Linear


def test_a_linear_model_by_hand():
    model = assembled(
        ws.SVR(kernel="linear"),
        kernel=Linear(),
        vectors=np.array([[1.0, 0.0], [0.0, 2.0]]),
        coef=np.array([[3.0, -1.0]]),
        intercept=np.array([0.5]),
        support=np.array([4, 9]),
        n_support=np.array([2]),
        shape_fit=(20, 2),
    )
    assert model.predict([[1.0, 1.0]]).tolist() == [3.0 - 2.0 + 0.5]
    assert model.coef_.tolist() == [[3.0, -2.0]]
    assert model.support_.tolist() == [4, 9]
    assert model.shape_fit_ == (20, 2)
    assert list(model.trace_) == []


def test_a_classifier_without_support_vectors():
    model = assembled(
        ws.SVC(),
        kernel=RBF(1.0),
        vectors=np.empty((0, 3)),
        coef=np.empty((1, 0)),
        intercept=np.array([-1.0]),
        support=np.empty(0),
        n_support=np.array([0, 0]),
        shape_fit=(5, 3),
        classes=np.array(["no", "yes"]),
        names=["a", "b", "c"],
    )
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.class_weight_.tolist() == [1.0, 1.0]
    del model.feature_names_in_
    assert model.predict(np.ones((2, 3))).tolist() == ["no", "no"]
