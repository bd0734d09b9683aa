"""Classifiers that choose C and gamma."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

import widestreet as ws
from support.machines import data


@pytest.mark.filterwarnings("ignore:the best")
def test_sparse_rows_weights_and_names():
    X, y = data("svc")
    weight = np.where(np.arange(len(y)) < 20, 0.0, 1.0)
    options = {"Cs": [1.0, 10.0], "gammas": [0.1, 0.5], "cv": 3}
    dense = ws.SVCCV(**options).fit(X, y, sample_weight=weight)
    found = ws.SVCCV(**options).fit(sparse.csr_matrix(X), y, sample_weight=weight)
    assert (found.C_, found.gamma_) == (dense.C_, dense.gamma_)
    np.testing.assert_allclose(found.decision_function(X), dense.decision_function(X), atol=0.01)
    assert found.classes_.tolist() == [-1, 1]


def test_it_is_a_classifier_of_widestreet():
    assert is_classifier(ws.SVCCV())
    assert ws.SVCCV.__module__ == "widestreet"
