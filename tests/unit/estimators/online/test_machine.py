"""Online machines: rows that come and go leave the model of those that are there."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from conftest import OF_THREE, TOL
from support.fitting import decision
from support.machines import CLASSIFIERS, CONVEX, any_street, data
from support.machines import machine as batch
from support.online_machines import N, add, assert_same, begun, fit, machine, mixed


@pytest.fixture
def rows(kind):
    return mixed(kind)


@pytest.fixture
def model(kind):
    return begun(kind)


# -- the same rows, the same model -------------------------------------------------------------


@any_street
@pytest.mark.parametrize("kernel", CONVEX)
def test_row_by_row_is_a_batch_fit(kind, kernel, rows):
    X, y = rows
    model = machine(kind, **CONVEX[kernel])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "nu=.* is infeasible", UserWarning)  # on the way
        for i in range(N):
            add(model, kind, X[i : i + 1], y[i : i + 1])
    assert model.ids_.tolist() == list(range(N))
    assert_same(model, fit(batch(kind, **CONVEX[kernel]), kind, X, y), X)


def test_many_rows_at_once_are_rows_one_by_one(kind, model, rows):
    X, y = rows
    other = copy.deepcopy(model)
    for i in range(30, N):
        add(other, kind, X[i : i + 1], y[i : i + 1])
    assert_same(add(model, kind, X[30:], y[30:]), other, X)


def test_the_order_of_arrival_does_not_matter(kind, model, rows):
    X, y = rows
    other = machine(kind)
    for part in np.array_split(np.arange(30)[::-1], 4):
        add(other, kind, X[part], y[part])
    assert_same(other, model, X)


def test_rows_that_come_and_go_again_leave_no_trace(kind, model, rows):
    X, y = rows
    before = decision(model, X)
    for i in range(30, N):
        add(model, kind, X[i : i + 1], y[i : i + 1]).forget(i)
        np.testing.assert_allclose(decision(model, X), before, rtol=0, atol=TOL.detour)
    add(model, kind, X[30:], y[30:]).forget(range(N, N + 6))
    np.testing.assert_allclose(decision(model, X), before, rtol=0, atol=TOL.detour)
    assert model.ids_.tolist() == list(range(30))


def test_forgetting_is_never_having_seen(kind, model, rows):
    X, y = rows
    kept = np.setdiff1d(np.arange(30), [0, 7, 8, 29])
    model.forget([8, 0, 29, 7, 0])
    assert_same(model, fit(machine(kind), kind, X[kept], y[kept]), X)
    assert model.ids_.tolist() == kept.tolist()
    assert model.n_rows_ == 26


def test_a_weight_of_two_is_a_repeated_row(kind, model, rows):
    X, y = rows
    weight = 1.0 + (np.arange(30) % 3 == 0)
    twice = np.repeat(np.arange(30), weight.astype(int))
    other = add(machine(kind), kind, X[twice], y[twice])
    assert_same(add(machine(kind), kind, X[:30], y[:30], weight), other, X)
    assert_same(model.change_weight(np.arange(0, 30, 3), 2.0), other, X)


def test_a_weight_of_zero_is_a_missing_row(kind, model, rows):
    X, y = rows
    without = fit(machine(kind), kind, X[3:30], y[3:30])
    given = add(machine(kind), kind, X[:30], y[:30], np.arange(30) >= 3)
    assert_same(given, without, X)
    assert_same(model.change_weight([0, 1, 2], 0.0), without, X)
    assert model.n_rows_ == 30
    add(model, kind, X[30:31], y[30:31], [0.0])
    assert_same(model, without, X)
    model.change_weight(30, 1.0)
    assert_same(model, fit(machine(kind), kind, X[3:31], y[3:31]), X)


def test_weights_belong_to_the_ids_as_they_are_named(kind, model, rows):
    X, y = rows
    weight = np.ones(30)
    weight[[20, 3, 11]] = [0.5, 2.0, 4.0]
    model.change_weight([20, 3, 11], [0.5, 2.0, 4.0])
    assert_same(model, add(machine(kind), kind, X[:30], y[:30], weight), X)


def assert_unfitted(model, X):
    """Nothing is predicted and nothing proved of no rows, and the error says what to do."""
    questions = (lambda: model.predict(X), lambda: decision(model, X), model.verify)
    for question in (*questions, lambda: model.certificate_):
        with pytest.raises(NotFittedError, match=r"no rows.*partial_fit"):
            question()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_forgetting_all_and_beginning_again(kind, model, rows):
    X, y = rows
    model.forget(model.ids_)
    assert model.n_rows_ == 0
    assert len(model.support_) == 0
    assert_unfitted(model, X)
    add(model, kind, X, y)
    assert model.ids_.tolist() == list(range(30, 30 + N))
    assert_same(model, fit(machine(kind), kind, X, y), X)


def test_a_window_forgets_the_oldest(kind, rows):
    X, y = rows
    model, other = machine(kind, max_rows=20), machine(kind)
    for part in (slice(0, 15), slice(15, 22), slice(22, 23), slice(23, N)):
        add(model, kind, X[part], y[part])
        add(other, kind, X[part], y[part])
        other.forget(other.ids_[:-20])
        np.testing.assert_array_equal(model.ids_, other.ids_)
        assert_same(model, other, X)
    model.set_params(max_rows=9)
    add(model, kind, X[:12], y[:12])  # more than there is room for
    assert model.ids_.tolist() == list(range(N + 3, N + 12))
    assert_same(model, fit(machine(kind), kind, X[3:12], y[3:12]), X)


def test_fit_forgets_everything(kind, model, rows):
    X, y = rows
    fit(model, kind, X[5:25], y[5:25])
    assert model.ids_.tolist() == list(range(20))
    assert_same(model, fit(machine(kind), kind, X[5:25], y[5:25]), X)


PARAMETERS = {
    "svc": {"C": 300.0},
    "nu_svc": {"nu": 0.55},
    "svr": {"C": 0.02, "epsilon": 0.4},
    "nu_svr": {"C": 2000.0, "nu": 0.8},
    "one_class": {"nu": 0.9},
}


@pytest.mark.parametrize("call", ["forget", "change_weight"])
def test_parameters_change_with_the_next_call(kind, model, rows, call):
    X, y = rows
    new = PARAMETERS[kind.removesuffix(OF_THREE)]
    nothing = ([],) if call == "forget" else ([], [])
    getattr(model.set_params(**new), call)(*nothing)
    assert_same(model, fit(batch(kind, **new), kind, X[:30], y[:30]), X)


@pytest.mark.parametrize("use", ["partial_fit", "verify", "leave_one_out"])
def test_another_number_of_threads_is_used_at_the_next_call(kind, model, rows, use):
    X, y = rows
    model.set_params(n_jobs=2)
    if use == "partial_fit":
        add(model, kind, X[30:], y[30:])
    else:
        getattr(model, use)()
    assert (model._state.store.threads, model._state.store.gram.threads) == (2, 2)


def test_a_new_memory_limit_is_used_at_the_next_call(kind, model, rows):
    X, y = rows
    before = decision(model, X)
    model.set_params(max_memory=1)
    with pytest.raises(ValueError, match=r"max_memory=1 bytes is too small.*raise max_memory"):
        add(model, kind, X, y)  # so many rows that the batch engine solves again
    np.testing.assert_allclose(decision(model, X), before, rtol=0, atol=TOL.decision)
    assert_same(add(model.set_params(max_memory=None), kind, X, y), add(begun(kind), kind, X, y), X)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_kernel_values_of_another_size_may_come(kind, kernel, rows):
    """First rows at the origin and next to it, then others: nothing is taken for a copy."""
    X, y = rows
    X = np.vstack([0.0 * X[:2], 1e-8 * X[2:12], X[12:]])
    options = CONVEX[kernel] | ({"coef0": 0.0} if kernel == "poly" else {})
    model = machine(kind, **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "nu=.* is infeasible|the margin is zero", UserWarning)
        for i in range(N):
            add(model, kind, X[i : i + 1], y[i : i + 1])
            assert model.verify().status == "optimal"
        warnings.filterwarnings("ignore", "the kernel will hardly see", UserWarning)
        assert_same(model, fit(batch(kind, **options), kind, X, y), X)


# -- what is shown -----------------------------------------------------------------------------


def test_support_vectors_are_in_order_of_arrival(kind, model, rows):
    X, y = rows
    model.forget([3, 0, 17])
    add(model, kind, X[30:], y[30:])
    X, y = X[model.ids_], y[model.ids_]
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    group = y if kind in CLASSIFIERS else np.zeros(len(y))
    key = list(zip(group[model.support_], model.support_, strict=True))
    assert key == sorted(key)
    assert model.n_support_.sum() == len(model.support_)
    assert model.shape_fit_ == X.shape


def test_the_certificate_is_made_when_it_is_asked_for(kind, model, rows):
    X, y = rows
    proof = model.verify()
    assert model.certificate_ == proof
    assert proof.tol == model.tol * max(1.0, np.abs(y[:30]).max() if "svr" in kind else 1.0)
    add(model, kind, X[30:], y[30:])
    assert model.certificate_.n_rows > proof.n_rows
    assert len(model.certificates_) == (3 if kind.endswith(OF_THREE) else 1)


@pytest.mark.parametrize("kind", ["svr", "one_class", "nu_svr", "svc"])
def test_rows_without_any_weight_make_no_model(kind, model, rows):
    model.change_weight(model.ids_, 0.0)
    assert model.n_rows_ == 30
    assert len(model.support_) == 0
    assert_unfitted(model, rows[0])
    model.change_weight(model.ids_, 1.0)
    assert_same(model, begun(kind), rows[0])


def test_coefficients_of_nothing_but_rounding_do_not_hold_the_bias():
    """All rows but one lose their weight: no coefficient is left, and the bias is in the middle."""
    X, y = data("svr", 12)
    model = machine("svr", kernel="linear", C=700.0, epsilon=0.5 * np.abs(y).max()).fit(X, y)
    for i in range(11):
        model.change_weight(i, 0.0)
    assert len(model.support_) == 0
    np.testing.assert_allclose(model.predict(X), y[11], rtol=0, atol=TOL.decision)
