"""Scores of new rows: by weights, in pieces, and where they overflow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import TOL
from support.fitting import decision
from support.machines import assert_same_function, data, machine
from support.noisy_classes import noisy

pytestmark = pytest.mark.numeric


def test_rows_that_overflow_are_not_predicted():
    X, y = noisy(60)
    model = ws.SVC(kernel="poly").fit(X, y)
    with pytest.raises(ValueError, match="X contains rows so large"):
        model.predict(X * 1e200)


@pytest.mark.parametrize("kind", ["svc", "svc of three", "nu_svc", "svr", "nu_svr", "one_class"])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_coef_and_intercept_give_the_decision_values(kind, offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) + offset
    score = X[:, 0] - offset + 0.3 * rng.normal(size=80)
    y = np.digitize(score, [-0.5, 0.5]) if kind == "svc of three" else (score > 0).astype(int)
    make = {
        "svc": ws.SVC, "svc of three": ws.SVC, "nu_svc": ws.NuSVC, "svr": ws.SVR,
        "nu_svr": ws.NuSVR, "one_class": ws.OneClassSVM,
    }[kind]  # fmt: skip
    model = make(kernel="linear")
    if kind.startswith("svc"):
        model.set_params(decision_function_shape="ovo")
    model.fit(X, score if kind.endswith("svr") else y)
    decide = model.predict if kind.endswith("svr") else model.decision_function
    by_weights = (X @ model.coef_.T + model.intercept_).reshape(decide(X).shape)
    size = 1 + np.abs(by_weights).max() + np.abs(model.coef_).max() * (offset + 1)
    np.testing.assert_allclose(decide(X), by_weights, rtol=0, atol=TOL.twin * size)
    np.testing.assert_allclose(
        decide(sparse.csr_matrix(X)), decide(X), rtol=0, atol=TOL.twin * size * (1 + offset)
    )


def test_predicting_in_pieces_is_predicting_at_once(kind, rng):
    X, y = data(kind)
    Z = rng.normal(size=(5000, X.shape[1]))
    for rows in (Z, sparse.csr_matrix(Z)):
        model = machine(kind).fit(X, y)
        whole = decision(model, rows)
        pieces = [decision(model, rows[a : a + 700]) for a in range(0, len(Z), 700)]
        np.testing.assert_allclose(np.concatenate(pieces), whole, atol=TOL.exact * 1e3)
        one_by_one = [decision(model, rows[i : i + 1])[0] for i in range(20)]
        np.testing.assert_allclose(one_by_one, whole[:20], atol=TOL.exact * 1e3)


def test_threads_do_not_change_predictions(kind, rng):
    X, y = data(kind)
    one, two = machine(kind, n_jobs=1).fit(X, y), machine(kind, n_jobs=2).fit(X, y)
    assert_same_function(one, two, X)
