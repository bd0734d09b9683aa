"""Training on all rows at once: what is counted, warned of and kept."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from inspect import get_annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from conftest import OF_THREE, TOL
from support.fitting import decision
from support.machines import assert_same_function, data, machine
from support.noisy_classes import noisy
from widestreet.online import OnlineSVC

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize(
    "make", [ws.SVC, ws.NuSVC, ws.SVR, ws.NuSVR, ws.OneClassSVM, ws.EnsembleSVC, OnlineSVC]
)
def test_only_parameters_are_declared_as_parameters(make):
    declared = {name for cls in make.__mro__ for name in get_annotations(cls)}
    inner = {name for name in declared if name.startswith("_") or name.endswith("_")}
    assert declared - inner <= make().get_params().keys()


def test_rows_are_counted_as_the_user_passed_them():
    X, y = noisy(60)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    weight = np.ones(len(y))
    weight[:3] = 0.0
    certificate = ws.SVC().fit(X, y, weight).certificate_
    assert (certificate.n_rows, certificate.n_distinct_rows) == (177, 59)
    assert "177 rows examined (59 distinct)" in str(certificate)
    regression = ws.SVR().fit(X, y).certificate_
    assert (regression.n_rows, regression.n_distinct_rows) == (180, 60)
    one = ws.OneClassSVM().fit(X).certificate_
    assert (one.n_rows, one.n_distinct_rows) == (180, 60)


@pytest.mark.parametrize("make", [ws.SVC, partial(ws.NuSVC, nu=0.9)])
def test_an_offset_changes_neither_objective_nor_decision_values(make):
    X, y = noisy(150)
    near = make(kernel="linear", tol=TOL.violation).fit(X, y)
    far = make(kernel="linear", tol=TOL.violation).fit(X + 1e3, y)
    assert far.certificate_.status == "optimal"
    objective = near.certificate_.dual_objective
    assert far.certificate_.dual_objective == pytest.approx(objective, rel=TOL.objective_rel)
    np.testing.assert_allclose(
        far.decision_function(X + 1e3), near.decision_function(X), atol=1e3 * TOL.decision
    )


def test_a_time_limit_is_said_with_its_cure():
    X, y = noisy(2000)
    with pytest.warns(ConvergenceWarning, match="raise max_time"):
        ws.SVC(C=1e6, max_time=1e-3).fit(X, y)


def test_refitting_forgets_the_first_fit(kind):
    X, y = data(kind)
    model = machine(kind).fit(X[30:90], y[90:30:-1])
    assert_same_function(model.fit(X, y), machine(kind).fit(X, y), X)


def test_same_random_state_same_model(kind):
    X, y = data(kind, 3000)
    one, other = (machine(kind, tol=1e-3, random_state=1).fit(X, y) for _ in range(2))
    assert np.array_equal(one.dual_coef_, other.dual_coef_)
    assert np.array_equal(one.support_, other.support_)
    assert one.n_kernel_values_ == other.n_kernel_values_
    generator = np.random.RandomState(1)
    model = machine(kind, tol=1e-3, random_state=generator).fit(X, y)
    assert model.certificate_.status == "optimal"


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


def test_a_model_from_elsewhere_says_who_certifies_it():
    X, y = data("svc")
    model = ws.io.from_sklearn(svm.SVC().fit(X, y))
    for name in ("certificate_", "certificates_"):
        assert not hasattr(ws.SVC(), name)
        with pytest.raises(AttributeError, match=rf"{name}.*widestreet\.certify\(model, X, y\)"):
            getattr(model, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing_'$"):
        _ = model.nothing_
