"""Online machines as estimators among others: copies, forms of rows, scikit-learn's checks."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import TOL
from support.fitting import decision
from support.machines import CLASSIFIERS, GAMMA, any_street, data
from support.machines import machine as batch
from support.online_machines import ONLINE, N, add, assert_same, begun, fit, machine, mixed
from widestreet.online import OnlineNuSVC, OnlineNuSVR, OnlineSVC


@pytest.fixture
def rows(kind):
    return mixed(kind)


@pytest.fixture
def model(kind):
    return begun(kind)


# -- copies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_copies_go_on_by_themselves(kind, model, rows, how):
    X, y = rows
    before = decision(model, X)
    other = pickle.loads(pickle.dumps(model)) if how == "pickle" else copy.deepcopy(model)
    np.testing.assert_array_equal(decision(other, X), before)
    add(other, kind, X[30:], y[30:]).forget(range(5))
    np.testing.assert_array_equal(decision(model, X), before)
    add(model, kind, X[30:], y[30:]).forget(range(5))
    np.testing.assert_allclose(decision(other, X), decision(model, X), rtol=0, atol=TOL.detour)
    assert other.verify().status == model.verify().status == "optimal"
    objectives = [[c.dual_objective for c in m.certificates_] for m in (model, other)]
    np.testing.assert_allclose(*objectives, rtol=TOL.objective_rel, atol=TOL.online)
    np.testing.assert_array_equal(other.ids_, model.ids_)


def test_a_clone_has_the_parameters_and_no_rows(kind, model):
    other = clone(model)
    assert other.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        other.forget(0)


# -- forms of rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["dense", "sparse"])
def test_sparse_rows_are_dense_rows(kind, model, rows, first):
    X, y = rows
    forms = [X[:20], sparse.csr_matrix(X[20:30])]
    if first == "sparse":
        forms = [sparse.csr_array(X[:20]), X[20:30]]
    other = machine(kind)
    for form, part in zip(forms, (y[:20], y[20:30]), strict=True):
        add(other, kind, form, part)
    assert sparse.issparse(other.support_vectors_) == (first == "sparse")
    assert_same(other, model, X)
    assert_same(other.forget(range(5)), model.forget(range(5)), X)


def test_float32_rows_are_rows(kind, model, rows):
    X, y = rows
    other = add(machine(kind), kind, X[:30].astype(np.float32), y[:30])
    assert other.support_vectors_.dtype == np.float32
    assert_same(other, model, X)


def test_float64_rows_after_float32_ones_keep_their_digits(kind, rows):
    X, y = rows
    fine = X[20:] + 1e-3 * np.random.default_rng(0).normal(size=X[20:].shape)
    model = add(machine(kind), kind, X[:20].astype(np.float32), y[:20])
    add(model, kind, fine, y[20:])
    every = np.vstack([X[:20], fine])
    np.testing.assert_array_equal(model.support_vectors_, every[model.support_])
    assert_same(model, fit(machine(kind), kind, every, y), X)


def test_callable_kernels_are_named_ones(kind, model, rows):
    X, y = rows

    def kernel(A, B):
        return np.exp(-GAMMA * ((A[:, None] - B) ** 2).sum(axis=2))

    other = add(machine(kind, kernel=kernel), kind, X[:30], y[:30])
    for one in (other, model):
        add(one, kind, X[30:], y[30:]).forget(range(4))
    assert_same(other, model, X)


def test_threads_do_not_matter(kind, model, rows):
    X, y = rows
    other = add(machine(kind, n_jobs=2), kind, X[:30], y[:30])
    for one in (other, model):
        add(one, kind, X[30:], y[30:]).forget(range(4))
    assert_same(other, model, X, TOL.detour)


def test_columns_have_names(kind, rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = add(machine(kind), kind, frame[:20], y[:20])
    add(model, kind, frame[20:], y[20:])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        add(model, kind, frame[["b", "a", "c"]], y)
    assert model.n_rows_ == N
    assert_same(model, fit(machine(kind), kind, frame, y), frame)
    fit(model, kind, X, y)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"kernel": "sigmoid"}, "use 'rbf'"),
        ({"kernel": "poly", "coef0": -1.0}, "coef0 >= 0"),
        ({"kernel": "precomputed"}, "pass the rows and a kernel"),
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"gamma": -1.0}, "gamma"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"max_memory": "much"}, "max_memory"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_cure(kind, rows, options, match):
    with pytest.raises(ValueError, match=match):
        add(machine(kind, **options), kind, *rows)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"class_weight": "balanced"}, "pass a dict"),
        ({"class_weight": {1: -1.0}}, "class_weight"),
        ({"decision_function_shape": "all"}, "decision_function_shape"),
        ({"break_ties": 1}, "break_ties"),
    ],
)
def test_classifiers_refuse_what_they_cannot_do(kind, rows, options, match):
    with pytest.raises(ValueError, match=match):
        add(machine(kind, **options), kind, *rows)


def test_labels_must_be_labels():
    X, _ = data("svc", 10)
    with pytest.raises(ValueError, match="continuous"):
        OnlineSVC().partial_fit(X, np.linspace(0, 1, 10))


# -- scikit-learn's checks ---------------------------------------------------------------------

CHECKED = [
    make(n_jobs=1, max_rows=max_rows, kernel=kernel, **({"nu": 0.2} if make is OnlineNuSVC else {}))
    for make, (max_rows, kernel) in zip(
        ONLINE.values(),
        [(None, "rbf"), (None, "linear"), (None, "rbf"), (10_000, "laplacian"), (None, "rbf")],
        strict=True,
    )
] + [OnlineNuSVR(n_jobs=1, method="insvr", scaling="schoelkopf", kernel="linear")]


@any_street
@pytest.mark.filterwarnings("ignore:nu=0.2 is infeasible")  # of classes of a few rows
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    name = getattr(check, "func", check).__name__
    if isinstance(estimator, OnlineNuSVC) and name == "check_class_weight_classifiers":
        pytest.skip("nu gives both classes the same total whatever their weights; see below")
    check(estimator)


def test_nu_gives_both_classes_the_same_total_whatever_their_weights():
    """Another weight of a class changes how much one row may have, not what all have together.

    NuSVC refuses a nu that is too large for the weights, the online machine lowers it: then all
    rows of the light class are at their bounds, and those of the heavy one have as much in all.
    """
    X, y = data("nu_svc", N)
    model = machine("nu_svc", class_weight={-1: 1e3, 1: 1e-4})
    with pytest.warns(UserWarning, match="infeasible"):
        model.fit(X, y)
    assert model.verify().status == "optimal"
    coef = model.dual_coef_[0] * model._rho[0]
    light = 1e-4 * (y > 0).sum()
    np.testing.assert_allclose(coef[coef > 0], 1e-4, rtol=TOL.decision)
    np.testing.assert_allclose(coef[coef > 0].sum(), light, rtol=TOL.decision)
    np.testing.assert_allclose(-coef[coef < 0].sum(), light, rtol=TOL.decision)
    assert set(model.predict(X)) == {-1, 1}
    with pytest.raises(ValueError, match="largest possible nu"):
        batch("nu_svc", class_weight={-1: 1e3, 1: 1e-4}).fit(X, y)
