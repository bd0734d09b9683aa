"""Held-out decision values and models of shared folds, against fits one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import OF_THREE, TOL
from support.cross_validation import folds_of, one_by_one
from support.fitting import decision
from support.machines import KERNELS, any_street, data, machine
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.tuning.folds import (
    coefficients_of,
    fold_coefficients,
    fold_models,
    held_out_scores,
)

KINDS = ("svc", "nu_svc", "svr", "nu_svr", "one_class", "svc" + OF_THREE, "nu_svc" + OF_THREE)
STREAMED = 3_000_000  # bytes: too few for a kernel matrix of 600 rows

pytestmark = any_street


@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_fits_one_by_one(kind):
    model, (X, y) = machine(kind), data(kind)
    folds = folds_of(model, X, y)
    expected = one_by_one(model, X, y, folds)
    np.testing.assert_allclose(held_out_scores(model, X, y, folds), expected, atol=TOL.decision)


@pytest.mark.parametrize("kind", KINDS)
def test_models_of_folds(kind):
    model, (X, y) = machine(kind), data(kind)
    folds = folds_of(model, X, y)
    expected = one_by_one(model, X, y, folds)
    for fitted, (_, test) in zip(fold_models(model, X, y, folds), folds, strict=True):
        np.testing.assert_allclose(decision(fitted, X[test]), expected[test], atol=TOL.decision)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("kind", ["svc", "svr", "svc" + OF_THREE])
def test_folds_that_start_from_the_model_of_all_rows(kind, kernel):
    model, (X, y) = machine(kind, kernel=kernel), data(kind)
    folds = folds_of(model, X, y)
    start = coefficients_of(model.fit(X, y), len(y))
    expected = one_by_one(model, X, y, folds)
    found = held_out_scores(model, X, y, folds, start=start)
    np.testing.assert_allclose(found, expected, atol=TOL.decision)
    again, intercept = fold_coefficients(model, X, y, folds, start=start)
    assert again.shape == (len(folds), *start.shape[1:])
    for coef, bias, one in zip(again, intercept, fold_models(model, X, y, folds), strict=True):
        np.testing.assert_allclose(
            coef, coefficients_of(one, len(y))[0], atol=TOL.decision * model.C
        )
        np.testing.assert_allclose(bias, one.intercept_, atol=TOL.decision)


def test_other_models_have_no_coefficients_to_start_from():
    X, y = data("nu_svc")
    assert coefficients_of(machine("nu_svc").fit(X, y), len(y)) is None


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "sigmoid"])
def test_every_convex_kernel(kernel):
    model, (X, y) = machine("svc", **KERNELS[kernel]), data("svc")
    folds = folds_of(model, X, y)
    expected = one_by_one(model, X, y, folds)
    np.testing.assert_allclose(held_out_scores(model, X, y, folds), expected, atol=TOL.decision)


def test_precomputed_kernel():
    X, y = data("svc")
    K = X @ X.T
    linear = machine("svc", kernel="linear")
    folds = folds_of(linear, X, y)
    np.testing.assert_allclose(
        held_out_scores(machine("svc", kernel="precomputed"), K, y, folds),
        one_by_one(linear, X, y, folds),
        atol=TOL.decision,
    )


@pytest.mark.parametrize("kind", ["svc", "svr", "svc" + OF_THREE])
def test_weights_equal_rows_and_sparse_rows(kind, rng):
    model, (X, y) = machine(kind, gamma="scale"), data(kind)
    X, y = np.concatenate([X, X[:60]]), np.concatenate([y, y[:60]])
    weight = rng.integers(0, 3, len(y)).astype(np.float64)
    folds = folds_of(model, X, y)
    for rows in (X, sparse.csr_matrix(X)):
        np.testing.assert_allclose(
            held_out_scores(model, rows, y, folds, sample_weight=weight),
            one_by_one(model, rows, y, folds, weight),
            atol=TOL.decision,
        )


@pytest.mark.parametrize("kind", ["svc", "svr", "svc" + OF_THREE])
def test_without_memory_for_a_kernel_matrix(kind):
    X, y = data(kind, 600)
    model = machine(kind, max_memory=STREAMED)
    folds = folds_of(model, X, y)
    expected = one_by_one(model, X, y, folds)
    np.testing.assert_allclose(held_out_scores(model, X, y, folds), expected, atol=TOL.decision)


def test_balanced_classes_of_each_fold():
    X, y = data("svc")
    model = machine("svc", class_weight="balanced")
    folds = folds_of(model, X[20:], y[20:])
    expected = one_by_one(model, X[20:], y[20:], folds)
    found = held_out_scores(model, X[20:], y[20:], folds)
    np.testing.assert_allclose(found, expected, atol=TOL.decision)


def test_rows_in_no_test_set():
    X, y = data("svr")
    folds = folds_of(machine("svr"), X, y)[:2]
    found = held_out_scores(machine("svr"), X, y, folds)
    assert np.isnan(found[folds_of(machine("svr"), X, y)[2][1]]).all()
    assert np.isfinite(found[folds[0][1]]).all()


def test_a_fold_without_one_of_the_classes_is_refused():
    X, y = data("svc" + OF_THREE)
    rows = np.arange(len(y))
    folds = [(rows[y != 0], rows[y == 0]), (rows[: len(y) // 2], rows[len(y) // 2 :])]
    with pytest.raises(ValueError, match="stratified"):
        held_out_scores(machine("svc" + OF_THREE), X, y, folds)


def test_no_time():
    X, y = data("svc")
    model = machine("svc")
    with pytest.raises(OutOfBudget):
        held_out_scores(model, X, y, folds_of(model, X, y), budget=Budget(1e-9))
