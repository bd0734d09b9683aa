"""Support vectors among rows: by their indices, or by their values."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from support.fitted_models import fitted
from widestreet._src.estimators.locating import classes_of, coefficients_over


def located(model, X, y, labels=True, box=None):
    box = np.ones(X.shape[0]) if box is None else box
    return coefficients_over("model", model, X, y.astype(float), box, labels=labels)


@pytest.mark.parametrize("form", ["dense", "csr", "float32"])
def test_rows_in_another_order_and_form(form):
    model, X, y, _ = fitted("svc of three/rbf/dense")
    order = np.random.default_rng(0).permutation(len(y))
    here = located(model, X, y)
    assert np.array_equal(here[:, model.support_], model.dual_coef_)
    form = {"csr": sparse.csr_matrix, "float32": np.float32, "dense": np.asarray}[form]
    assert np.array_equal(located(model, form(X[order]), y[order]), here[:, order])


def test_two_classes_are_told_apart_by_signs_if_vectors_are_mixed():
    coef = np.array([[0.5, -1.0, 0.5]])
    assert classes_of(coef, np.array([1, 2])).tolist() == [1, 0, 1]
    assert classes_of(coef, np.array([2, 1])).tolist() == [0, 0, 1]
    assert classes_of(np.ones((2, 4)), np.array([1, 2, 1])).tolist() == [0, 1, 1, 2]


def test_equal_rows_with_other_targets_are_told_apart_by_their_coefficients():
    X = np.repeat([[0.0], [1.0], [2.0]], 2, axis=0)
    y = np.array([0.0, 3.0, 1.0, 1.0, 5.0, -2.0])
    model = ws.SVR(kernel="linear", C=0.5).fit(X, y)
    order = np.array([1, 0, 3, 2, 5, 4])  # the row of an index has the values, not the target
    here, there = (located(model, X, target, labels=False)[0] for target in (y, y[order]))
    model.support_ = np.zeros_like(model.support_)  # so that values count
    found = located(model, X[order], y[order], labels=False)[0]
    assert np.array_equal(found @ y[order], here @ y)
    assert there @ y[order] < here @ y


def test_a_heavy_row_gets_the_large_coefficient():
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([0, 0, 1])
    model = ws.SVC(kernel="linear", C=0.1).fit(X, y, [1.0, 5.0, 6.0])
    order = np.array([1, 0, 2])
    model.support_ = np.zeros_like(model.support_)
    found = located(model, X[order], y, box=np.array([5.0, 1.0, 6.0]))
    assert abs(found[0, 0]) > abs(found[0, 1])


def test_support_vectors_that_are_not_there():
    model, X, y, _ = fitted("svc/rbf/dense")
    with pytest.raises(ValueError, match=r"of the \d+ support vectors are not among the rows"):
        located(model, X + 1, (y > 0))
    with pytest.raises(ValueError, match="are not among"):
        located(model, X, (y < 0))
    box = np.zeros(len(y))
    box[0] = 1.0
    with pytest.raises(ValueError, match="positive weight"):
        located(model, X[::-1], (y > 0)[::-1], box=box)


@pytest.mark.parametrize("digits", [6, 8])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_vectors_that_a_file_has_rounded(digits, form):
    _, X, y, _ = fitted("svc/rbf/dense")
    X = X / 3
    model = ws.SVC().fit(X, y)
    here = located(model, X, (y > 0))
    rounded = copy(model)
    text = [[f"{value:.{digits}g}" for value in row] for row in model.support_vectors_]
    rounded.support_vectors_ = form(np.array(text, dtype=float))
    assert not np.array_equal(rounded.support_vectors_, model.support_vectors_)
    assert np.array_equal(located(rounded, X, (y > 0)), here)
    assert np.array_equal(located(rounded, sparse.csr_matrix(X), (y > 0)), here)
    with pytest.raises(ValueError, match="are not among"):
        located(rounded, X * (1 + 1e-5), (y > 0))


@pytest.mark.parametrize("name", ["support_", "support_vectors_", "dual_coef_"])
def test_arrays_of_other_sizes_are_named(name):
    model, X, y, _ = fitted("svc/rbf/dense")
    model = copy(model)
    array = getattr(model, name)
    setattr(model, name, array[:, :-1] if name == "dual_coef_" else array[:-1])
    with pytest.raises(ValueError, match="model: dual_coef_ has the coefficients of"):
        located(model, X, (y > 0))


def test_a_kernel_matrix_must_be_that_of_the_fit():
    model, X, y, _ = fitted("svc/precomputed/dense")
    assert np.count_nonzero(located(model, X, (y > 0)).any(axis=0)) == len(model.support_)
    with pytest.raises(ValueError, match="kernel matrix of shape"):
        located(model, X[:10, :10], (y > 0)[:10])
