"""What a fitted machine shows: names, shapes, order and signs of sklearn.svm, and certificates."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from conftest import OF_THREE, TOL
from support.fitting import coefficients, decision
from support.machines import CLASSIFIERS, GAMMA, MACHINES, NU, C, any_street, data, machine

FORMS = {"dense": np.asarray, "csr": sparse.csr_matrix}
NOT_OURS = {"probA_", "probB_"}  # there are no probabilities
ALMOST = {"intercept_", "offset_", "coef_"}  # the rest has to be equal
MAY_DIFFER = {"n_iter_", "dual_coef_"}  # but for shapes and signs


def sklearn_twin(kind, **options):
    make, own = MACHINES[kind.removesuffix(OF_THREE)]
    pairs = {"decision_function_shape": "ovo"} if kind.endswith(OF_THREE) else {}
    theirs = getattr(svm, make.__name__)
    return theirs(**{"gamma": GAMMA, "tol": 1e-10} | own | pairs | options)


def dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def tolerance_of(model):
    return TOL.sklearn_decision * max(10, np.abs(model.dual_coef_).sum())


# -- against sklearn.svm -----------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_every_attribute_of_scikit_learn(kind, form):
    X, y = data(kind)
    rows = FORMS[form](X)
    options = {"class_weight": {0: 1.5, 1: 1.25}} if kind == "svc" + OF_THREE else {}
    ours, theirs = (make(kind, **options).fit(rows, y) for make in (machine, sklearn_twin))
    names = {name for name in dir(theirs) if name.endswith("_") and name[0] != "_"}
    for name in names - NOT_OURS - {"coef_"}:
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert type(mine) is type(other), name
        assert np.shape(mine) == np.shape(other), name
        if name != "n_iter_":  # which may be too many for 32 bits
            assert getattr(mine, "dtype", None) == getattr(other, "dtype", None), name
        if name in ALMOST:
            np.testing.assert_allclose(mine, other, atol=tolerance_of(ours), err_msg=name)
        elif name not in MAY_DIFFER:
            np.testing.assert_array_equal(dense(mine), dense(other), err_msg=name)
    assert ours.fit_status_ == 0
    np.testing.assert_array_equal(*(np.sign(dense(m.dual_coef_)) for m in (ours, theirs)))


@any_street
@pytest.mark.parametrize("form", FORMS)
def test_coef_belongs_to_the_linear_kernel(kind, form):
    X, y = data(kind)
    rows = FORMS[form](X)
    ours, theirs = (make(kind, kernel="linear").fit(rows, y) for make in (machine, sklearn_twin))
    coef = ours.coef_
    assert type(coef) is type(theirs.coef_)
    assert coef.shape == theirs.coef_.shape
    assert coef.dtype == theirs.coef_.dtype
    if not kind.startswith("nu_"):  # whose bias, and with it the scale, may be left open
        np.testing.assert_allclose(dense(coef), dense(theirs.coef_), atol=tolerance_of(ours))
    values = dense(rows @ coef.T) + ours.intercept_
    by_kernel = decision(ours, rows).reshape(len(y), -1)
    np.testing.assert_allclose(values, by_kernel, atol=TOL.decision)
    with pytest.raises(ValueError, match="read-only"):
        (coef.data if sparse.issparse(coef) else coef)[0] = 1.0
    with pytest.raises(AttributeError):
        ours.coef_ = coef
    assert not hasattr(machine(kind).fit(rows, y), "coef_")
    assert not hasattr(machine(kind, kernel="linear"), "coef_")


def test_offset():
    X, _ = data("one_class")
    model = machine("one_class").fit(X)
    np.testing.assert_array_equal(model.offset_, -model.intercept_)
    np.testing.assert_allclose(
        model.score_samples(X) - model.offset_, model.decision_function(X), atol=TOL.decision
    )
    theirs = sklearn_twin("one_class").fit(X)
    np.testing.assert_allclose(
        model.score_samples(X), theirs.score_samples(X), atol=tolerance_of(model)
    )
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) < 0, -1, 1))
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))


# -- support vectors ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_support_vectors_are_rows_in_order(kind, form):
    X, y = data(kind)
    rows = FORMS[form](X)
    model = machine(kind).fit(rows, y)
    np.testing.assert_array_equal(dense(model.support_vectors_), X[model.support_])
    assert (dense(model.dual_coef_) != 0).any(axis=0).all()
    if kind not in CLASSIFIERS:
        assert (np.diff(model.support_) > 0).all()
        assert model.n_support_.tolist() == [len(model.support_)]
        return
    labels = y[model.support_]
    assert np.array_equal(labels, np.sort(labels))  # class by class
    assert model.n_support_.tolist() == [(labels == label).sum() for label in model.classes_]
    for label in model.classes_:
        assert (np.diff(model.support_[labels == label]) > 0).all()


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
def test_coefficients_of_two_classes(kind):
    """Positive for the second class, in a box (C, or a share of their sum), and zero in sum."""
    X, y = data(kind)
    model = machine(kind).fit(X, y)
    coef = model.dual_coef_[0]
    assert (np.sign(coef) == y[model.support_]).all()
    width = C if kind == "svc" else np.abs(coef).sum() / (NU * len(y)) * (1 + TOL.feasibility)
    assert np.abs(coef).max() <= width
    assert coef.sum() == pytest.approx(0, abs=TOL.feasibility * width * len(y))


@pytest.mark.parametrize("kind", ["svc" + OF_THREE, "nu_svc" + OF_THREE])
def test_coefficients_of_three_classes(kind):
    """Positive for the first class of a pair; line l is for the l-th of the other classes."""
    X, y = data(kind)
    model = machine(kind).fit(X, y)
    labels = y[model.support_]
    for i, j in combinations(range(3), 2):
        first, second = model.dual_coef_[j - 1, labels == i], model.dual_coef_[i, labels == j]
        assert (first >= 0).all()
        assert (second <= 0).all()
        scale = max(first.max(), -second.min()) * len(y)
        assert first.sum() == pytest.approx(-second.sum(), abs=TOL.feasibility * scale)


@pytest.mark.parametrize("kind", ["svr", "nu_svr"])
def test_support_vectors_of_a_regression(kind):
    X, y = data(kind)
    model = machine(kind).fit(X, y)
    epsilon = model.epsilon if kind == "svr" else model.epsilon_
    residual = y - model.predict(X)
    coef = coefficients(model)
    slack = TOL.decision
    assert (np.abs(residual[coef == 0]) <= epsilon + slack).all()  # inside the tube
    assert (np.abs(residual[np.abs(coef) == C]) >= epsilon - slack).all()  # beyond it
    free = (coef != 0) & (np.abs(coef) < C)
    np.testing.assert_allclose(np.abs(residual[free]), epsilon, atol=slack)  # on its edge
    assert (np.sign(residual[model.support_]) == np.sign(model.dual_coef_[0])).all()
    assert np.abs(coef).max() <= C
    assert coef.sum() == pytest.approx(0, abs=TOL.feasibility * C * len(y))


def test_support_vectors_of_one_class():
    X, _ = data("one_class")
    model = machine("one_class").fit(X)
    coef = coefficients(model)
    assert coef.min() >= 0
    assert coef.max() <= 1
    assert coef.sum() == pytest.approx(NU * len(X), rel=TOL.feasibility)
    value = model.decision_function(X)
    assert (value[coef == 0] >= -TOL.decision).all()
    assert (value[coef == 1] <= TOL.decision).all()


# -- certificates ------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-2, TOL.violation])
def test_certificates_and_trace(kind, tol):
    X, y = data(kind)
    model = machine(kind, tol=tol).fit(X, y)
    pairs = 3 if kind.endswith(OF_THREE) else 1
    assert len(model.certificates_) == len(model.intercept_) == pairs
    assert {c.status for c in model.certificates_} == {"optimal"}
    assert {c.n_rows for c in model.certificates_} == {len(y) * 2 // 3 if pairs == 3 else len(y)}
    assert model.certificate_ is max(model.certificates_, key=lambda c: c.kkt_violation)
    assert model.certificate_.tol == tol >= model.certificate_.kkt_violation
    assert {record.problem for record in model.trace_} == set(range(pairs))
    last = {record.problem: record.pair_steps for record in model.trace_}
    assert np.ravel(model.n_iter_).tolist() == [last[p] for p in range(pairs)]
    assert model.n_kernel_values_ >= len(model.support_) * len(y) / pairs


def test_a_fit_that_stops_early_says_so(kind):
    X, y = data(kind, 600)
    with pytest.warns(ConvergenceWarning, match=r"iteration_limit.*max_iter") as caught:
        model = machine(kind, max_iter=1).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert model.fit_status_ == 1
    assert model.certificate_.status == "iteration_limit"
    assert model.certificate_.kkt_violation > model.tol
    assert np.isfinite(decision(model, X)).all()
