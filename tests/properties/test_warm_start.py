"""A refit that begins at the last solution ends where one from scratch does."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from conftest import KINDS, OF_THREE, TOL
from support.fitting import cut_short
from support.machines import (
    GAMMA,
    NU,
    C,
    any_street,
    assert_same_function,
    assert_same_objective,
    data,
    machine,
)

pytestmark = any_street

CHANGES = [
    {"C": 1.1 * C},
    {"C": 10 * C},
    {"C": 0.1 * C},
    {"nu": NU + 0.01},
    {"nu": NU - 0.1},
    {"nu": NU + 0.3},
    {"gamma": 1.1 * GAMMA},
    {"gamma": 4 * GAMMA},
    {"epsilon": 0.3},
    {"kernel": "laplacian"},
    {"class_weight": "balanced"},
    {"strategy": "smo", "tol": 0.1 * TOL.violation},
]


def applies(kind, change):
    return change.keys() <= machine(kind).get_params().keys()


def steps(model):
    return np.sum(model.n_iter_)


def assert_same_solution(one, other, X):
    assert_same_function(one, other, X)
    assert_same_objective(one, other)
    assert one.certificate_.status == other.certificate_.status == "optimal"


def assert_same_bits(one, other):
    """Not only the same function: fitted in the same way."""
    np.testing.assert_array_equal(one.support_, other.support_)
    for name in ("dual_coef_", "intercept_", "n_iter_"):
        values = [getattr(model, name) for model in (one, other)]
        dense = [v.toarray() if sparse.issparse(v) else v for v in values]
        np.testing.assert_array_equal(*dense)
    assert one.n_kernel_values_ == other.n_kernel_values_


# -- other parameters --------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("kind", "change"), [(k, change) for k in KINDS for change in CHANGES if applies(k, change)]
)
def test_other_parameters(kind, change, form):
    X, y = data(kind)
    rows = form(X)
    warm = machine(kind, warm_start=True).fit(rows, y)
    warm.set_params(**change).fit(rows, y)
    assert_same_solution(warm, machine(kind, **change).fit(rows, y), rows)


def test_along_a_path(kind):
    X, y = data(kind)
    warm = machine(kind, warm_start=True)
    name, values = ("C", (0.01, 0.1, 1.0, 10.0, 100.0, 1.0))
    if not hasattr(warm, name):
        name, values = ("nu", (0.6, 0.5, 0.4, 0.3, 0.2, 0.5))
    for value in values:
        warm.set_params(**{name: value}).fit(X, y)
        assert_same_solution(warm, machine(kind, **{name: value}).fit(X, y), X)


@pytest.mark.parametrize("n", [120, 600])
def test_a_small_change_takes_fewer_steps(kind, n):
    X, y = data(kind, n)
    change = {"C": 1.01 * C} if hasattr(machine(kind), "C") else {"nu": NU + 0.01}
    warm = machine(kind, tol=1e-3, warm_start=True).fit(X, y)
    first = steps(warm)
    assert steps(warm.fit(X, y)) < first  # there is little to do
    warm.set_params(**change).fit(X, y)
    assert steps(warm) <= steps(machine(kind, tol=1e-3, **change).fit(X, y))
    assert warm.certificate_.status == "optimal"


def test_a_fit_that_was_cut_short_goes_on(kind):
    X, y = data(kind)
    with cut_short():
        warm = machine(kind, max_iter=20, warm_start=True).fit(X, y)
    assert warm.certificate_.status == "iteration_limit"
    warm.set_params(max_iter=-1).fit(X, y)
    assert_same_solution(warm, machine(kind).fit(X, y), X)


# -- other data --------------------------------------------------------------------------------


def exchanged(X, y, rng):
    return X, y[::-1].copy()


def noisier(X, y, rng):
    return X, np.where(rng.random(len(y)) < 0.1, rng.permutation(y), y)


def moved(X, y, rng):
    return np.round(64 * (X + rng.normal(size=X.shape) / 4)) / 64, y


def widened(X, y, rng):
    return np.column_stack([X, rng.normal(size=len(X))]), y


def with_copies(X, y, rng):
    return np.repeat(X[::2], 2, axis=0), np.repeat(y[::2], 2)


@pytest.mark.parametrize("change", [exchanged, noisier, moved, widened, with_copies])
def test_other_data_of_as_many_rows(kind, change, rng):
    X, y = data(kind)
    Z, z = change(X, y, rng)
    for (A, a), (B, b) in (((X, y), (Z, z)), ((Z, z), (X, y))):
        warm = machine(kind, warm_start=True).fit(A, a).fit(B, b)
        assert_same_solution(warm, machine(kind).fit(B, b), B)


def test_other_weights(kind, rng):
    X, y = data(kind)
    weight = rng.integers(0, 4, len(y))
    warm = machine(kind, warm_start=True).fit(X, y)
    assert_same_solution(warm.fit(X, y, weight), machine(kind).fit(X, y, weight), X)
    assert_same_solution(warm.fit(X, y), machine(kind).fit(X, y), X)


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
def test_other_labels_for_the_same_classes(kind):
    X, y = data(kind)
    warm = machine(kind, warm_start=True).fit(X, y).fit(X, np.where(y > 0, "yes", "no"))
    assert warm.classes_.tolist() == ["no", "yes"]
    assert_same_solution(warm, machine(kind).fit(X, y), X)


def test_kernel_matrices(kind):
    X, y = data(kind)
    K, L = X @ X.T, np.square(1 + X @ X.T)
    warm = machine(kind, kernel="precomputed", warm_start=True).fit(K, y).fit(L, y)
    assert_same_solution(warm, machine(kind, kernel="precomputed").fit(L, y), L)


# -- a cold start all the same -----------------------------------------------------------------


def test_another_number_of_rows(kind):
    X, y = data(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warm = machine(kind, warm_start=True).fit(X, y).fit(X[:90], y[:90])
    assert_same_bits(warm, machine(kind).fit(X[:90], y[:90]))


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
def test_another_number_of_classes(kind):
    X, y = data(kind + OF_THREE)
    of_two = np.minimum(y, 1)
    for first, then in ((y, of_two), (of_two, y)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warm = machine(kind, warm_start=True).fit(X, first).fit(X, then)
        assert_same_bits(warm, machine(kind).fit(X, then))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_without_a_warm_start_a_refit_is_a_first_fit(kind, form):
    X, y = data(kind)
    rows = form(X)
    fresh = machine(kind).fit(rows, y)
    assert_same_bits(machine(kind).fit(rows, y[::-1].copy()).fit(rows, y), fresh)
    assert_same_bits(machine(kind, warm_start=True).fit(rows, y), fresh)
    used = machine(kind, warm_start=True).fit(rows, y)
    assert_same_bits(clone(used).fit(rows, y), fresh)


@pytest.mark.parametrize("kind", ["svc", "nu_svc"])
@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_class_that_has_gone(kind, gone):
    X, y = data(kind + OF_THREE)
    weight = (y != gone).astype(float)
    warm = machine(kind, warm_start=True).fit(X, y).fit(X, y, weight)
    assert_same_bits(warm, machine(kind).fit(X, y, weight))
