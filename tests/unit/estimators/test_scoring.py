"""Prepared expansions of models: kept while the model stays the same, not pickled."""

from __future__ import annotations

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from gc import collect
from itertools import pairwise
from math import fsum

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import TOL
from support.fitting import decision
from support.machines import KERNELS, data, machine
from widestreet._src.estimators import scoring
from widestreet._src.estimators.scoring import dense_coef, expansion_of
from widestreet._src.kernels.rounding_bounds import UNIT

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", ["svc", "svr", "one_class", "svc of three"])
def test_one_row_has_the_score_of_many(kernel, kind, monkeypatch):
    X, y = data(kind)
    model = machine(kind, tol=TOL.violation, **KERNELS[kernel]).fit(X, y)
    few = np.array([decision(model, X[i : i + 1])[0] for i in range(20)])
    monkeypatch.setattr(scoring.PackedRows, "scan", lambda *_: None)
    np.testing.assert_array_equal(few, decision(model, X)[:20])


def test_a_model_is_prepared_once_and_again_after_a_fit():
    X, y = data("svc")
    model = machine("svc").fit(X, y)
    first = expansion_of(model)
    model.predict(X[:1])
    assert expansion_of(model) is first
    model.set_params(C=1.0).fit(X, y)
    assert expansion_of(model) is not first
    fresh = machine("svc", C=1.0).fit(X, y)
    np.testing.assert_array_equal(decision(model, X), decision(fresh, X))


def test_replaced_attributes_are_noticed():
    X, y = data("svc")
    model = machine("svc").fit(X, y)
    before = decision(model, X) - model.intercept_
    model.dual_coef_ = 2.0 * model.dual_coef_
    after = decision(model, X) - model.intercept_
    np.testing.assert_allclose(after, 2.0 * before, atol=TOL.twin)


def test_predictions_leave_no_attribute_and_no_memory():
    X, y = data("svc")
    model = machine("svc").fit(X, y)
    names, size = set(vars(model)), len(pickle.dumps(model))
    model.predict(X[:1])
    assert set(vars(model)) == names
    assert len(pickle.dumps(model)) == size
    assert model in scoring._prepared
    other = copy.deepcopy(model)
    assert other not in scoring._prepared
    np.testing.assert_array_equal(decision(other, X[:1]), decision(model, X[:1]))
    kept = len(scoring._prepared)
    del other
    collect()
    assert len(scoring._prepared) < kept


def test_threads_may_predict_at_the_same_time():
    X, y = data("svc of three")
    for _ in range(5):
        model = machine("svc of three").fit(X, y)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda i, m=model: decision(m, X[i : i + 1])[0], range(len(X))))
        np.testing.assert_array_equal(found, decision(model, X))


@pytest.mark.parametrize("kind", ["svc", "svc of three", "svr", "nu_svc"])
def test_a_linear_machine_needs_its_weights_only(kind, monkeypatch):
    X, y = data(kind)
    model = machine(kind, kernel="linear", tol=TOL.violation).fit(X, y)
    forms = [X, X.astype(np.float32), sparse.csr_matrix(X), X[:1]]
    found = [decision(model, Z) for Z in forms]
    with monkeypatch.context() as patch:
        patch.setattr(scoring, "_LARGEST_WEIGHTS", 0)
        scans = [decision(copy.copy(model), Z) for Z in forms]
    size = 1 + np.abs(model.dual_coef_).sum()
    for one, other in zip(found, scans, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=TOL.scan_float64 * 10 * size)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_weights_that_are_rounding_errors_are_zero(storage, rng):
    """Rows around the origin: the one-class SVM of a linear kernel has no weights."""
    X = storage(rng.normal(size=(80, 2)))
    model = ws.OneClassSVM(kernel="linear").fit(X)
    assert abs(model.coef_).max() == 0.0
    assert len(np.unique(model.decision_function(X))) == 1


def test_names_of_features_are_checked_for_one_row():
    pandas = pytest.importorskip("pandas")
    X, y = data("svc")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    named, plain = machine("svc").fit(frame, y), machine("svc").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named.predict(frame[:1])
        plain.predict(X[:1])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.predict(X[:1])
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        plain.predict(frame[:1])
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(frame[["b", "a", "c"]][:1])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (np.ones((1, 2)), "X has 2 features, but SVC is expecting 3"),
        (np.full((1, 3), np.nan), "NaN"),
        (np.full((1, 3), np.inf), "infinity"),
        (np.ones(3), "Expected 2D array"),
        (np.ones((0, 3)), "0 sample"),
    ],
)
def test_a_wrong_row_is_named(wrong, said):
    X, y = data("svc")
    with pytest.raises(ValueError, match=said):
        machine("svc").fit(X, y).predict(wrong)


@pytest.mark.parametrize("dtype", [np.int64, np.float16, ">f8", object])
def test_rows_of_other_types_are_converted(dtype):
    X, y = data("svc")
    model = machine("svc").fit(X, y)
    row = np.array([[1.0, 2.0, -1.0]])
    np.testing.assert_array_equal(decision(model, row.astype(dtype)), decision(model, row))


def test_without_a_fit_there_is_no_prediction():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        ws.SVC().predict(np.ones((1, 2)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_of_large_coefficients_keep_their_digits(form, rng):
    """Sums of many coefficients at a large bound cancel; what is left is the model."""
    X = rng.standard_normal((3000, 4))
    y = np.where((X[:, 0] > 0) != (rng.random(3000) < 0.3), 1, -1)
    model = ws.SVC(kernel="linear", C=1e6).fit(form(X), y)
    assert model.certificate_.status == "optimal"
    coef = np.zeros(3000)
    coef[model.support_] = dense_coef(model.dual_coef_)[0]
    exact = [fsum((coef * column).tolist()) for column in X.T]
    size = np.abs(coef) @ np.abs(X)
    assert (np.abs(dense_coef(model.coef_)[0] - exact) <= 8 * UNIT * np.sqrt(3000) * size).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_arrays_change_in_place_before_the_first_prediction_only(kernel, form):
    X, y = data("svc")
    model = ws.SVC(kernel=kernel).fit(form(X), y)
    expected = 2.0 * (decision(copy.deepcopy(model), form(X)) - model.intercept_)
    values = model.dual_coef_ if form is np.asarray else model.dual_coef_.data
    values *= 2.0
    found = decision(model, form(X)) - model.intercept_
    slack = TOL.scan_float64 * max(1.0, np.abs(found).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=slack)
    vectors = model.support_vectors_
    for array in (values, vectors if form is np.asarray else vectors.data):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    model.dual_coef_ = 0.5 * model.dual_coef_
    half = decision(model, form(X)) - model.intercept_
    np.testing.assert_allclose(2.0 * half, found, rtol=0, atol=slack)


@pytest.mark.parametrize("kernel", KERNELS)
def test_too_few_coefficients_are_refused(kernel):
    X, y = data("svc")
    model = ws.SVC(kernel=kernel).fit(X, y)
    model.dual_coef_ = model.dual_coef_[:, 1:]
    with pytest.raises(ValueError, match=r"dual_coef_ has the coefficients of \d+ support vectors"):
        model.predict(X)
    model.dual_coef_ = np.ones((2, len(model.support_)))
    with pytest.raises(ValueError, match="dual_coef_ has 2 rows, but n_support_ is of 2 classes"):
        model.predict(X)


def test_columns_in_any_order():
    X, y = data("svc")
    rows = sparse.csr_array(X)
    backwards = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(rows.indptr)])
    rows = sparse.csr_array((rows.data[backwards], rows.indices[backwards], rows.indptr), X.shape)
    model = ws.SVC(kernel="linear").fit(rows, y)
    sorted_rows = ws.SVC(kernel="linear").fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        model.decision_function(X), sorted_rows.decision_function(X), rtol=TOL.twin, atol=TOL.twin
    )
    assert model.coef_.shape == (1, X.shape[1])
