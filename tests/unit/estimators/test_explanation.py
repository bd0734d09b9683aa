"""SHAP values: against all coalitions, their sums, and what cannot be explained."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from conftest import KINDS, TOL
from reference.shapley import shapley_values
from support.fitting import decision
from support.machines import KERNELS, any_street, data, machine
from widestreet.online import OnlineSVC

pytestmark = pytest.mark.numeric
PRODUCTS = ("rbf", "laplacian", "linear")


def outputs(model, X):
    """Decision values in the form that is explained, one line per row."""
    if getattr(model, "decision_function_shape", None) == "ovr" and len(model.classes_) > 2:
        pairs = model.set_params(decision_function_shape="ovo").decision_function(X)
        model.set_params(decision_function_shape="ovr")
        first, second = np.triu_indices(len(model.classes_), 1)
        found = np.zeros((len(pairs), len(model.classes_)))
        for p, (i, j) in enumerate(zip(first, second, strict=True)):
            found[:, i] += pairs[:, p]
            found[:, j] -= pairs[:, p]
        return found
    values = decision(model, X)
    return values if values.ndim > 1 else values[:, None]


def slack(model):
    coef = model.dual_coef_
    return TOL.feasibility * (1 + abs(coef).sum())


def assert_explains(found, model, X, background):
    value = outputs(model, X)
    values = found.values if found.values.ndim == 3 else found.values[:, :, None]
    base = found.base_values if found.base_values.ndim == 2 else found.base_values[:, None]
    expected = [shapley_values(lambda Z: outputs(model, Z), x, background) for x in X]
    np.testing.assert_allclose(values, expected, rtol=0, atol=slack(model))
    np.testing.assert_allclose(base + values.sum(axis=1), value, rtol=0, atol=slack(model))
    mean = np.tile(outputs(model, background).mean(axis=0), (len(X), 1))
    np.testing.assert_allclose(base, mean, rtol=0, atol=slack(model))


@any_street
@pytest.mark.parametrize("kernel", PRODUCTS)
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_all_coalitions(kind, kernel):
    X, y = data(kind)
    model = machine(kind, tol=TOL.violation, **KERNELS[kernel]).fit(X, y)
    found = ws.explain(model, X[:4], X[50:57])
    assert_explains(found, model, X[:4], X[50:57])
    assert found.values.shape == (4, 3, 3) if "three" in kind else (4, 3)
    assert found.feature_names == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(found.data, X[:4])


@pytest.mark.parametrize("d", [1, 2, 7, 10])
def test_any_number_of_features(d, rng):
    X = rng.normal(size=(80, d))
    y = X.sum(axis=1) + 0.1 * rng.normal(size=80) > 0
    model = ws.SVC(gamma=1.0 / d).fit(X, y)
    assert_explains(ws.explain(model, X[:2], X[40:43]), model, X[:2], X[40:43])


def test_fifty_features_add_up(rng):
    X = rng.normal(size=(200, 50))
    model = ws.SVR(gamma=0.02).fit(X, X[:, 0] + np.sin(X[:, 1]))
    found = ws.explain(model, X[:10], X[100:])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(X[:10]), rtol=0, atol=slack(model))


@pytest.mark.parametrize("kernel", PRODUCTS)
def test_classes_by_the_sum_of_their_decision_values(kernel):
    X, y = data("svc of three")
    model = machine("svc of three", tol=TOL.violation, **KERNELS[kernel])
    model.set_params(decision_function_shape="ovr").fit(X, np.array(["a", "b", "c"])[y])
    found = ws.explain(model, X[:3], X[50:55])
    assert_explains(found, model, X[:3], X[50:55])
    assert found.output_names == ["a", "b", "c"]


def test_pairs_are_named():
    X, y = data("svc of three")
    found = ws.explain(machine("svc of three").fit(X, y), X[:1], X)
    assert found.output_names == ["0 or 1", "0 or 2", "1 or 2"]


@pytest.mark.parametrize("intercept", [False, True])
def test_ensembles(intercept):
    X, y = data("svc")
    model = ws.EnsembleSVC(gamma=0.5, intercept=intercept, folds=None).fit(X, y)
    assert_explains(ws.explain(model, X[:3], X[50:55]), model, X[:3], X[50:55])


def test_online_estimators():
    X, y = data("svc")
    model = OnlineSVC(gamma=0.5).fit(X[::2], y[::2])
    assert_explains(ws.explain(model, X[:3], X[50:55]), model, X[:3], X[50:55])


def test_one_class_of_labels_has_nothing_to_explain():
    X, _ = data("svc")
    found = ws.explain(OnlineSVC(gamma=0.5).partial_fit(X, np.zeros(len(X))), X[:3], X)
    assert not found.values.any()
    assert not found.base_values.any()


@pytest.mark.parametrize("kernel", PRODUCTS)
def test_sparse_rows(kernel):
    X, y = data("svc")
    rows = sparse.csr_matrix(X)
    dense = machine("svc", **KERNELS[kernel]).fit(X, y)
    thin = machine("svc", **KERNELS[kernel]).fit(rows, y)
    expected = ws.explain(dense, X[:3], X[50:55])
    for model, A in ((dense, rows), (thin, rows), (thin, X)):
        found = ws.explain(model, A[:3], A[50:55])
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=TOL.decision)
        np.testing.assert_array_equal(found.data, X[:3])


def test_names_of_features():
    pandas = pytest.importorskip("pandas")
    X, y = data("svc")
    frame = pandas.DataFrame(X, columns=["age", "height", "weight"])
    found = ws.explain(machine("svc").fit(frame, y), frame[:2], frame)
    assert found.feature_names == ["age", "height", "weight"]


def test_one_background_row_and_constant_columns():
    X, y = data("svc")
    X = np.column_stack([X, np.full(len(X), 3.0)])
    model = machine("svc").fit(X, y)
    found = ws.explain(model, X[:2], X[7:8])
    assert_explains(found, model, X[:2], X[7:8])
    assert not found.values[:, 3].any()
    same = ws.explain(model, X[7:8], X[7:8])
    assert not same.values.any()
    np.testing.assert_allclose(same.base_values, decision(model, X[7:8]), atol=slack(model))


def test_absurd_work_is_refused_with_its_cost(rng):
    X = rng.normal(size=(30, 10_000))
    model = ws.SVC(gamma=1e-4).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match=r"10,000 features .* would take about .*max_time"):
        ws.explain(model, X, X, max_time=1.0)


def test_ten_thousand_features(rng):
    X = np.zeros((40, 10_000))
    X[:, ::100] = rng.normal(size=(40, 100))  # the others never vary
    model = ws.SVC(gamma=1e-2).fit(X, X[:, 0] > 0)
    found = ws.explain(model, X[:2], X[20:24])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, decision(model, X[:2]), rtol=0, atol=slack(model))


@pytest.mark.parametrize("kernel", ["poly", "sigmoid", "precomputed", lambda A, B: A @ B.T])
def test_other_kernels_are_refused(kernel):
    X, y = data("svc")
    X = X @ X.T if kernel == "precomputed" else X
    model = ws.SVC(kernel=kernel, gamma=0.1).fit(X, y)
    with pytest.raises(ValueError, match="is no product over the features"):
        ws.explain(model, X[:2], X)


def test_bad_input_is_named():
    X, y = data("svc")
    model = machine("svc").fit(X, y)
    with pytest.raises(NotFittedError):
        ws.explain(ws.SVC(), X, X)
    with pytest.raises(TypeError, match="fitted estimator of widestreet"):
        ws.explain(object(), X, X)
    with pytest.raises(TypeError, match=r"pass model\[-1\]"):
        ws.explain(make_pipeline(StandardScaler(), machine("svc")).fit(X, y), X, X)
    with pytest.raises(ValueError, match="expecting 3 features"):
        ws.explain(model, X, X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        ws.explain(model, np.full((1, 3), np.nan), X)
    with pytest.raises(ValueError, match="0 sample"):
        ws.explain(model, X, X[:0])
    with pytest.raises(ValueError, match="max_time"):
        ws.explain(model, X, X, max_time=0)
    with pytest.raises(ValueError, match="verbose"):
        ws.explain(model, X, X, verbose="yes")


def test_progress_is_shown_on_request(capsys):
    X, y = data("svc")
    model = machine("svc").fit(X, y)
    ws.explain(model, X[:2], X, verbose=True)
    assert "explaining" in capsys.readouterr().err


def test_for_the_plots_of_shap(monkeypatch):
    X, y = data("svc")
    found = ws.explain(machine("svc").fit(X, y), X[:2], X)
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=SimpleNamespace))
    given = found.to_shap()
    assert vars(given) == {name: getattr(found, name) for name in vars(given)}
    assert set(vars(given)) == set(vars(found))
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        found.to_shap()


def test_a_wrong_background_is_named():
    X, y = data("svc")
    model = machine("svc").fit(X, y)
    for wrong in (X[:, :2], np.full_like(X, np.nan), X[0], X[:0]):
        with pytest.raises(ValueError, match=r"^background"):
            ws.explain(model, X, wrong)
    with pytest.raises(ValueError, match=r"^X has 2 features"):
        ws.explain(model, X[:, :2], X)
