"""The public module of searches."""

from __future__ import annotations

import pickle

import numpy as np

import widestreet as ws
from support.machines import data
from widestreet import model_selection


def test_public_names_say_where_they_are():
    assert model_selection.__all__ == ["GridSearchCV"]
    assert model_selection.GridSearchCV.__module__ == "widestreet.model_selection"


def test_a_fitted_search_can_be_pickled():
    X, y = data("svc")
    search = model_selection.GridSearchCV(ws.SVC(), {"C": [1.0, 10.0]}).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert again.best_params_ == search.best_params_
