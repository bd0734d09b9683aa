"""The estimators as a user of scikit-learn meets them: its checks, labels, refits, tiny data."""

from __future__ import annotations

from contextlib import nullcontext
from unittest import SkipTest

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import widestreet as ws
from conftest import OF_THREE, TOL
from support.fitting import decision
from support.machines import CLASSIFIERS, C, any_street, assert_same_function, data, machine

# -- scikit-learn's own checks, without any expected failure -----------------------------------


MACHINES = [
    (ws.SVC, {}),
    (ws.NuSVC, {"nu": 0.2}),  # the default is too large for the classes of some checks
    (ws.SVR, {}),
    (ws.NuSVR, {}),
    (ws.OneClassSVM, {}),
]
SETTINGS = [
    {"kernel": "linear", "tol": 1e-9},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.01, "strategy": "smo"},
    {"kernel": "sigmoid", "gamma": 0.01, "tol": 1e-6},
    {"kernel": "laplacian", "tol": 1e-9, "strategy": "smo"},
]
# What a hard-margin machine has forgotten at the end is where it began: its weights. Therefore
# neither aggregate="last" nor a linear kernel, of which the same is true, can give a class of
# weight 1000 what check_class_weight_classifiers wants it to have. And a kernel matrix must be
# positive semidefinite, which the matrices of random numbers in some checks are not.
ENSEMBLES = [
    {},
    {"rank": 20, "epsilon": 0.05, "folds": None},
    {"rank": 0.01, "kernel": "laplacian", "epsilon": 0.05, "folds": None},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1, "epsilon": 0.05, "folds": 2},
    {"intercept": True, "epsilon": 0.05, "folds": None},
    {"aggregate": "parzen"},
    {"learning_rate": "literal", "epsilon": 0.05, "folds": None},
]
CHECKED = [
    make(**own, **settings, n_jobs=1)
    for make, own in MACHINES
    for settings in ({}, {"kernel": "precomputed"})
    # scikit-learn's checks of outliers know no kernel matrices
    if not (make is ws.OneClassSVM and settings)
] + [ws.EnsembleSVC(epsilon=0.05, folds=2, n_jobs=1)]  # in few steps
# Other kernels and methods change the numbers, not what parameters, labels or shapes may be.
NUMBERS = (
    "check_class_weight_classifiers",
    "check_classifiers_train",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_outliers_train",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
VARIANTS = [make(**own, **settings, n_jobs=1) for make, own in MACHINES for settings in SETTINGS]
VARIANTS += [ws.EnsembleSVC(**settings, n_jobs=1) for settings in ENSEMBLES]


def name_of(check) -> str:
    return getattr(check, "func", check).__name__


@any_street
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    run(estimator, check)


def run(estimator, check) -> None:
    """Run a check, none of those on weights may be skipped."""
    if isinstance(estimator, ws.NuSVC) and name_of(check) == "check_class_weight_classifiers":
        # weights of 1000 and 0.0001, between which there is no nu to speak of
        with pytest.raises(ValueError, match="largest possible nu"):
            check(estimator)
        return
    try:
        check(estimator)
    except SkipTest:
        assert "weight" not in name_of(check)
        raise


@pytest.mark.parametrize("estimator", [e for e in CHECKED if e.kernel != "precomputed"], ids=str)
def test_weights_are_among_the_checks(estimator):
    names = {name_of(check) for _, check in estimator_checks_generator(estimator)}
    assert names >= set(NUMBERS[-2:])


@any_street
@pytest.mark.parametrize("estimator", VARIANTS, ids=str)
def test_the_numbers_of_other_kernels_and_methods(estimator):
    found = set()
    for one, check in estimator_checks_generator(estimator):
        if name_of(check) in NUMBERS:
            run(one, check)
            found.add(name_of(check))
    assert found >= set(NUMBERS[-2:])  # a weight is a repetition


# -- labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
@pytest.mark.parametrize(
    ("negative", "positive"),
    [("ham", "spam"), (False, True), (0, 1), (3, 7), (0.0, 1.0), (np.uint8(1), np.uint8(2))],
)
def test_labels_of_any_kind(kind, negative, positive):
    X, y = data(kind)
    labels = np.where(y > 0, np.asarray(positive), np.asarray(negative))
    model = machine(kind).fit(X, labels)
    assert model.classes_.tolist() == [negative, positive]
    np.testing.assert_array_equal(model.predict(X) == positive, model.decision_function(X) > 0)
    assert model.predict(X).dtype == labels.dtype
    assert_same_function(model, machine(kind).fit(X, y), X)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_exchanging_the_labels_negates_the_function(kind):
    """Of several pairs, which are then in the opposite order."""
    X, y = data(kind)
    one, other = machine(kind).fit(X, y), machine(kind).fit(X, -y)
    values = [decision(model, X).reshape(len(y), -1) for model in (one, other)]
    assert np.abs(values[0] + values[1][:, ::-1]).max() <= TOL.decision


def test_regression_of_shifted_and_scaled_targets():
    X, y = data("svr")
    one = machine("svr", epsilon=0.1).fit(X, y)
    other = machine("svr", epsilon=0.4, C=4 * C).fit(X, 4 * y + 100)
    difference = np.abs(4 * one.predict(X) + 100 - other.predict(X)).max()
    assert difference <= 4 * TOL.decision


# -- fits and predictions --------------------------------------------------------------------


def test_refitting_forgets_the_first_fit(kind):
    X, y = data(kind)
    model = machine(kind).fit(X[30:90], y[90:30:-1])
    assert_same_function(model.fit(X, y), machine(kind).fit(X, y), X)


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


def test_same_random_state_same_model(kind):
    X, y = data(kind, 3000)
    one, other = (machine(kind, tol=1e-3, random_state=1).fit(X, y) for _ in range(2))
    assert np.array_equal(one.dual_coef_, other.dual_coef_)
    assert np.array_equal(one.support_, other.support_)
    assert one.n_kernel_values_ == other.n_kernel_values_
    generator = np.random.RandomState(1)
    model = machine(kind, tol=1e-3, random_state=generator).fit(X, y)
    assert model.certificate_.status == "optimal"


# -- small and degenerate ----------------------------------------------------------------------


def test_two_rows():
    for model in (ws.SVC(C=10.0, kernel="linear"), ws.NuSVC(kernel="linear")):
        model.set_params(tol=TOL.violation).fit([[-1.0], [1.0]], [0, 1])
        assert model.coef_.item() == pytest.approx(1.0, rel=TOL.decision)
        assert model.decision_function([[0.5]]).item() == pytest.approx(0.5, rel=TOL.decision)
    for model in (ws.SVR(epsilon=0.0), ws.NuSVR()):
        model.set_params(tol=TOL.violation).fit([[0.0], [1.0]], [2.0, 2.0])
        assert model.predict([[7.0]]).item() == pytest.approx(2.0, rel=TOL.decision)


def test_one_row():
    for model in (ws.SVR(epsilon=0.0), ws.NuSVR()):
        assert model.fit([[3.0]], [2.0]).predict([[7.0]]).tolist() == [2.0]
    model = ws.OneClassSVM(gamma=1.0).fit([[3.0]])
    assert model.predict([[3.0], [4.0]]).tolist() == [1, -1]
    assert model.decision_function([[3.0]]).tolist() == [0.0]


def test_a_regression_that_fits_into_the_tube_has_no_support_vectors():
    X, y = data("svr")
    model = machine("svr", epsilon=100.0).fit(X, y)
    assert len(model.support_) == 0
    assert model.dual_coef_.shape == (1, 0)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.gap == 0
    np.testing.assert_array_equal(model.predict(X), np.full(len(y), model.intercept_[0]))
    assert np.abs(y - model.intercept_).max() <= 100.0


def test_rows_that_are_all_equal(kind):
    y = np.arange(20) % 3 if kind.endswith(OF_THREE) else np.where(np.arange(20) < 8, -1, 1)
    y = np.arange(20.0) if kind.endswith("svr") else y
    no_street = pytest.warns(UserWarning, match="the margin is zero")
    with no_street if kind.startswith("nu_svc") else nullcontext():
        model = machine(kind).fit(np.ones((20, 2)), y)
    assert {c.status for c in model.certificates_} == {"optimal"}
    value = decision(model, np.ones((1, 2)))
    if kind.endswith("svr"):
        assert value.item() == pytest.approx(9.5, abs=1.0)
    elif kind == "svc":
        assert value.item() > 0
    else:  # nothing speaks for a class, or for being an outlier
        assert np.abs(value).max() <= (1.0 if kind == "svc" + OF_THREE else TOL.decision)


def test_one_column_of_zeros_in_csr(kind):
    X, y = data(kind)
    padded = sparse.csr_matrix(np.column_stack([X, np.zeros(len(y))]))
    empty_row = padded.copy()
    empty_row.data[: empty_row.indptr[1]] = 0.0
    empty_row.eliminate_zeros()
    dense = empty_row.toarray()
    one, other = machine(kind).fit(empty_row, y), machine(kind).fit(dense, y)
    assert_same_function(one, other, empty_row, dense)
