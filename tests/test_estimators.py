"""SVC and SVR as a user of scikit-learn meets them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import widestreet as ws
from conftest import TOL
from fitting import coefficients, decision
from machines import CONVEX, GAMMA, C, assert_same_function, data, machine
from problems import toy_svc, toy_svr
from reference import kernels

# -- scikit-learn's own checks, without any expected failure -----------------------------------


@parametrize_with_checks(
    [
        ws.SVC(n_jobs=1),
        ws.SVC(kernel="linear", n_jobs=1),
        ws.SVC(kernel="precomputed", n_jobs=1),
        ws.SVC(kernel="poly", degree=2, coef0=1.0, strategy="smo", n_jobs=1),
        ws.SVC(kernel="laplacian", tol=1e-8, n_jobs=1),
        ws.SVC(kernel="sigmoid", tol=0.1, n_jobs=1),
        ws.SVR(n_jobs=1),
        ws.SVR(kernel="linear", tol=1e-8, n_jobs=1),
        ws.SVR(kernel="precomputed", n_jobs=1),
        ws.SVR(kernel="laplacian", tol=0.1, strategy="smo", n_jobs=1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("negative", "positive"),
    [("ham", "spam"), (False, True), (0, 1), (3, 7), (0.0, 1.0), (np.uint8(1), np.uint8(2))],
)
def test_labels_of_any_kind(negative, positive):
    X, y = data("svc")
    labels = np.where(y > 0, np.asarray(positive), np.asarray(negative))
    model = machine("svc").fit(X, labels)
    assert model.classes_.tolist() == [negative, positive]
    np.testing.assert_array_equal(model.predict(X) == positive, model.decision_function(X) > 0)
    assert model.predict(X).dtype == labels.dtype
    assert_same_function(model, machine("svc").fit(X, y), X)


def test_strings_as_objects():
    X, y = data("svc")
    labels = np.where(y > 0, "spam", "ham")
    model = machine("svc").fit(X, labels.astype(object))
    assert model.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_array_equal(model.predict(X), machine("svc").fit(X, labels).predict(X))


def test_exchanging_the_labels_negates_the_function():
    X, y = data("svc")
    one, other = machine("svc").fit(X, y), machine("svc").fit(X, -y)
    difference = np.abs(one.decision_function(X) + other.decision_function(X)).max()
    assert difference <= TOL.decision


def test_regression_of_shifted_and_scaled_targets():
    X, y = data("svr")
    one = machine("svr", epsilon=0.1).fit(X, y)
    other = machine("svr", epsilon=0.4, C=4 * C).fit(X, 4 * y + 100)
    difference = np.abs(4 * one.predict(X) + 100 - other.predict(X)).max()
    assert difference <= 4 * TOL.decision


# -- attributes, against sklearn.svm -----------------------------------------------------------


def sklearn_twin(task, **options):
    options = {"C": C, "tol": 1e-10} | options
    return svm.SVC(**options) if task == "svc" else svm.SVR(**options)


@pytest.mark.parametrize("strategy", ["auto", "smo"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_decision_values_are_those_of_scikit_learn(task, kernel, strategy, rng):
    X, y = data(task)
    weight = rng.choice([0.5, 1.0, 2.0], len(y))
    ours = machine(task, strategy=strategy, **CONVEX[kernel]).fit(X, y, weight)
    theirs = sklearn_twin(task, **CONVEX[kernel]).fit(X, y, weight)
    tolerance = TOL.sklearn_decision * max(10, np.abs(ours.dual_coef_).sum())
    np.testing.assert_allclose(decision(ours, X), decision_of(theirs, X), atol=tolerance)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=tolerance)


def decision_of(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_attributes_have_the_shapes_and_order_of_scikit_learn(task, form):
    X, y = data(task)
    rows = X if form == "dense" else sparse.csr_matrix(X)
    ours = machine(task, kernel="linear").fit(rows, y)
    theirs = sklearn_twin(task, kernel="linear").fit(rows, y)
    names = ["support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_", "coef_"]
    for name in names:
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine.ndim == other.ndim, name
        assert mine.shape[:-1] == other.shape[:-1] or name == "support_vectors_"
        assert mine.dtype == other.dtype, name
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == theirs.fit_status_ == 0
    assert np.shape(ours.n_iter_) == np.shape(theirs.n_iter_)
    tolerance = TOL.sklearn_decision * max(10, np.abs(ours.dual_coef_).sum())
    dense = [w.toarray() if sparse.issparse(w) else w for w in (ours.coef_, theirs.coef_)]
    np.testing.assert_allclose(*dense, atol=tolerance)
    if task == "svc":
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)
        np.testing.assert_array_equal(ours.class_weight_, theirs.class_weight_)


def test_support_vectors_are_listed_by_class():
    X, y = data("svc")
    model = machine("svc").fit(X, y)
    labels = y[model.support_]
    assert model.n_support_.tolist() == [(labels < 0).sum(), (labels > 0).sum()]
    assert np.array_equal(labels, np.sort(labels))
    for label in (-1, 1):
        assert (np.diff(model.support_[labels == label]) > 0).all()
    assert (np.sign(model.dual_coef_[0]) == labels).all()
    assert np.abs(model.dual_coef_).max() <= C
    assert model.dual_coef_.sum() == pytest.approx(0, abs=TOL.feasibility * C * len(y))
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


def test_support_vectors_of_a_regression():
    X, y = data("svr")
    model = machine("svr", epsilon=0.1).fit(X, y)
    assert (np.diff(model.support_) > 0).all()
    assert model.n_support_.tolist() == [len(model.support_)]
    residual = y - model.predict(X)
    coef = coefficients(model)
    slack = TOL.decision
    assert (np.abs(residual[coef == 0]) <= 0.1 + slack).all()  # inside the tube
    assert (np.abs(residual[np.abs(coef) == C]) >= 0.1 - slack).all()  # beyond it
    assert (np.sign(residual[model.support_]) == np.sign(model.dual_coef_[0])).all()


def test_coef_belongs_to_the_linear_kernel(task):
    X, y = data(task)
    model = machine(task, kernel="linear").fit(X, y)
    np.testing.assert_allclose(
        X @ model.coef_[0] + model.intercept_, decision(model, X), atol=TOL.decision
    )
    assert not hasattr(machine(task).fit(X, y), "coef_")
    assert not hasattr(machine(task, kernel="linear"), "coef_")


def test_certificate_and_trace_are_there(task):
    X, y = data(task)
    model = machine(task).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.n_rows == len(y)
    assert model.certificate_.tol == TOL.violation
    assert len(model.trace_) > 0
    assert model.n_kernel_values_ >= len(y) * len(model.support_)
    assert np.all(model.n_iter_ == model.trace_[-1].pair_steps)


# -- the rest of scikit-learn ------------------------------------------------------------------


def test_pickle_and_clone(task):
    X, y = data(task)
    for rows in (X, sparse.csr_matrix(X)):
        model = machine(task).fit(rows, y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(decision(again, rows), decision(model, rows))
        assert again.certificate_ == model.certificate_
        assert len(again.trace_) == len(model.trace_)
        fresh = clone(model)
        assert not hasattr(fresh, "support_")
        assert fresh.get_params() == model.get_params()
        np.testing.assert_array_equal(decision(fresh.fit(rows, y), rows), decision(model, rows))


def test_search_and_pipeline(task):
    X, y = data(task)
    pipeline = make_pipeline(StandardScaler(), machine(task, tol=1e-3))
    name = pipeline.steps[-1][0]
    search = GridSearchCV(pipeline, {f"{name}__C": [0.1, 1.0, 10.0]}, cv=3, n_jobs=1)
    search.fit(X, y)
    assert search.best_score_ > 0.5
    K = kernels.matrix("rbf", X, gamma=GAMMA)
    by_kernel = cross_val_score(machine(task, kernel="precomputed"), K, y, cv=3)
    by_rows = cross_val_score(machine(task), X, y, cv=3)
    np.testing.assert_allclose(by_kernel, by_rows, atol=TOL.decision * 10)


def test_refitting_forgets_the_first_fit(task):
    X, y = data(task)
    model = machine(task).fit(X[30:90], y[90:30:-1])
    assert_same_function(model.fit(X, y), machine(task).fit(X, y), X)


def test_predicting_in_pieces_is_predicting_at_once(task, rng):
    X, y = data(task)
    Z = rng.normal(size=(5000, X.shape[1]))
    for rows in (Z, sparse.csr_matrix(Z)):
        model = machine(task).fit(X, y)
        whole = decision(model, rows)
        pieces = [decision(model, rows[a : a + 700]) for a in range(0, len(Z), 700)]
        np.testing.assert_allclose(np.concatenate(pieces), whole, atol=TOL.exact * 1e3)
        one_by_one = [decision(model, rows[i : i + 1])[0] for i in range(20)]
        np.testing.assert_allclose(one_by_one, whole[:20], atol=TOL.exact * 1e3)


def test_threads_do_not_change_predictions(task, rng):
    X, y = data(task)
    one, two = machine(task, n_jobs=1).fit(X, y), machine(task, n_jobs=2).fit(X, y)
    assert_same_function(one, two, X)


@pytest.mark.parametrize("seed", [0, 1])
def test_same_random_state_same_model(task, seed):
    problem = toy_svc(3000, 2, C=5.0) if task == "svc" else toy_svr(3000, 2, C=5.0)
    one, other = (
        machine(task, tol=1e-3, random_state=seed).fit(problem.X, problem.y) for _ in range(2)
    )
    assert np.array_equal(one.dual_coef_, other.dual_coef_)
    assert np.array_equal(one.support_, other.support_)
    assert one.n_kernel_values_ == other.n_kernel_values_
    generator = np.random.RandomState(seed)
    model = machine(task, tol=1e-3, random_state=generator).fit(problem.X, problem.y)
    assert model.certificate_.status == "optimal"


# -- small and degenerate ----------------------------------------------------------------------


def test_two_rows():
    model = ws.SVC(kernel="linear", C=10.0, tol=TOL.violation).fit([[-1.0], [1.0]], [0, 1])
    assert model.coef_.item() == pytest.approx(1.0, rel=TOL.decision)
    assert model.decision_function([[0.5]]).item() == pytest.approx(0.5, rel=TOL.decision)
    flat = ws.SVR(epsilon=0.0, tol=TOL.violation).fit([[0.0], [1.0]], [2.0, 2.0])
    assert flat.predict([[7.0]]).item() == pytest.approx(2.0, rel=TOL.decision)


def test_a_regression_that_fits_into_the_tube_has_no_support_vectors():
    X, y = data("svr")
    model = machine("svr", epsilon=100.0).fit(X, y)
    assert len(model.support_) == 0
    assert model.dual_coef_.shape == (1, 0)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.gap == 0
    np.testing.assert_array_equal(model.predict(X), np.full(len(y), model.intercept_[0]))
    assert np.abs(y - model.intercept_).max() <= 100.0


def test_rows_that_are_all_equal(task):
    y = np.where(np.arange(20) < 8, -1, 1) if task == "svc" else np.arange(20.0)
    model = machine(task, C=1.0).fit(np.ones((20, 2)), y)
    assert model.certificate_.status == "optimal"
    value = decision(model, np.ones((1, 2))).item()
    if task == "svc":
        assert value > 0
    else:
        assert value == pytest.approx(9.5, abs=1.0)


def test_one_column_of_zeros_in_csr(task):
    X, y = data(task)
    padded = sparse.csr_matrix(np.column_stack([X, np.zeros(len(y))]))
    empty_row = padded.copy()
    empty_row.data[: empty_row.indptr[1]] = 0.0
    empty_row.eliminate_zeros()
    dense = empty_row.toarray()
    one, other = machine(task).fit(empty_row, y), machine(task).fit(dense, y)
    assert_same_function(one, other, empty_row, dense)
