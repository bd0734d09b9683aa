"""Compact models: fewer support vectors, and decision values within what was promised."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import widestreet as ws
from conftest import KINDS, TOL
from support.fitting import decision
from support.machines import KERNELS, any_street, data, machine
from widestreet.datasets import checkerboard, twonorm

pytestmark = pytest.mark.numeric


@pytest.fixture(scope="module")
def board():
    X, y = checkerboard(2000, random_state=0)
    return X, y, ws.SVC(gamma=2.0).fit(X, y)


def anywhere(X, rng, n=20_000):
    """Points in and around the box of X, and its rows."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.concatenate([X, rng.uniform(low - 1, high + 1, size=(n, X.shape[1]))])


@pytest.mark.parametrize("tolerance", [0.5, 0.05, 0.005])
def test_no_decision_value_changes_by_more_than_the_bound(board, tolerance, rng):
    X, _, model = board
    small = model.compact(tolerance)
    reached = small.compaction_
    assert 0.0 < reached.bound <= reached.tolerance == tolerance
    assert reached.n_before == len(model.support_)
    assert reached.n_after == len(small.support_) < len(model.support_) / 2
    Z = anywhere(X, rng)
    assert np.abs(decision(small, Z) - decision(model, Z)).max() <= reached.bound
    np.testing.assert_array_equal(small.support_vectors_, X[small.support_])
    assert small.n_support_.sum() == len(small.support_)


def test_a_smaller_tolerance_needs_no_fewer_vectors(board):
    *_, model = board
    sizes = [model.compact(t).compaction_.n_after for t in (1.0, 0.1, 0.01)]
    assert sizes == sorted(sizes)


@any_street
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_machine(kind, kernel, rng):
    X, y = data(kind, n=300)
    model = machine(kind, tol=TOL.violation, **KERNELS[kernel]).fit(X, y)
    size = np.abs(model.dual_coef_).sum()
    small = model.compact(0.1 * size)
    assert small.compaction_.n_after < small.compaction_.n_before
    Z = anywhere(X, rng, 2000)
    assert np.abs(decision(small, Z) - decision(model, Z)).max() <= small.compaction_.bound


@any_street
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kind", KINDS)
def test_a_linear_machine_becomes_its_weights(kind, storage):
    X, y = data(kind)
    X = storage(X)
    model = machine(kind, kernel="linear", tol=TOL.violation).fit(X, y)
    small = model.compact(1e-6)
    pairs = 3 if "three" in kind else 1
    assert small.compaction_.bound == 0.0
    assert small.compaction_.n_after == len(small.support_) == small.support_vectors_.shape[0]
    assert small.n_support_.sum() == pairs
    np.testing.assert_array_equal(decision(small, X), decision(model, X))
    difference = abs(small.coef_ - model.coef_)
    assert difference.max() == 0.0


def test_measured_on_rows_fewer_vectors_suffice(board):
    X, _, model = board
    proven, every, most = (
        model.compact(0.05),
        model.compact(0.05, rows=X),
        model.compact(0.05, rows=X, quantile=0.9),
    )
    sizes = [len(small.support_) for small in (most, every, proven)]
    assert sizes == sorted(sizes)
    for small, part in ((every, 1.0), (most, 0.9)):
        difference = np.abs(decision(small, X) - decision(model, X))
        reached = small.compaction_
        assert reached.bound is None
        assert reached.quantile == part
        np.testing.assert_allclose(
            np.quantile(difference, part), reached.measured, rtol=0, atol=TOL.decision
        )
        assert reached.measured <= 0.05


def test_measured_with_a_polynomial_kernel_and_three_classes(rng):
    X, y = data("svc of three", n=300)
    model = machine("svc of three", tol=TOL.violation, **KERNELS["poly"]).fit(X, y)
    small = model.compact(0.1, rows=X)
    assert np.abs(decision(small, X) - decision(model, X)).max() <= 0.1
    assert small.compaction_.n_after < small.compaction_.n_before


def test_what_cannot_be_made_smaller_stays_as_it_is():
    X, y = twonorm(300, random_state=0)
    model = ws.SVC(gamma=1.0).fit(X, y)
    small = model.compact(1e-3)
    assert small.compaction_.bound == 0.0
    assert small.compaction_.n_after == small.compaction_.n_before == len(model.support_)
    np.testing.assert_array_equal(decision(small, X), decision(model, X))
    small = model.compact(1e-3, rows=X)
    assert small.compaction_.measured == 0.0
    np.testing.assert_array_equal(decision(small, X), decision(model, X))


def test_equal_kernel_values_need_no_vectors():
    X, y = data("svc", 60)
    model = machine("svc", gamma=0.0).fit(X, y)
    small = model.compact(1e-3)
    assert len(small.support_vectors_) <= 1
    assert np.array_equal(small.predict(X), model.predict(X))


def test_the_model_itself_is_not_changed(board):
    X, _, model = board
    before = pickle.dumps(model)
    small = model.compact(0.1)
    assert pickle.dumps(model) == before
    assert not hasattr(model, "compaction_")
    assert model.certificate_.status == "optimal"
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(decision(again, X), decision(small, X))
    assert again.compaction_ == small.compaction_


def test_a_fit_forgets_the_compaction(board):
    X, y, model = board
    small = copy.copy(model.compact(0.1)).set_params(warm_start=True).fit(X, y)
    assert not hasattr(small, "compaction_")
    assert small.certificate_.status == "optimal"
    assert np.abs(small.dual_coef_).max() <= model.C


def test_a_compact_model_becomes_more_compact(board, rng):
    X, _, model = board
    once = model.compact(0.01)
    twice = once.compact(0.2)
    assert len(twice.support_) < len(once.support_)
    Z = anywhere(X, rng)
    limit = once.compaction_.bound + twice.compaction_.bound
    assert np.abs(decision(twice, Z) - decision(model, Z)).max() <= limit


def test_an_ensemble(rng):
    X, y = checkerboard(300, random_state=0)
    model = ws.EnsembleSVC(gamma=2.0).fit(X, y)
    small = model.compact(0.01)
    Z = anywhere(X, rng, 2000)
    assert np.abs(decision(small, Z) - decision(model, Z)).max() <= small.compaction_.bound
    assert small.compaction_.n_after < small.compaction_.n_before


@pytest.mark.parametrize("kernel", ["sigmoid", "precomputed", lambda A, B: A @ B.T])
def test_other_kernels_are_refused(kernel):
    X, y = data("svc")
    X = X @ X.T if kernel == "precomputed" else X
    with pytest.raises(ValueError, match="compact needs kernel='rbf'"):
        ws.SVC(kernel=kernel, gamma=0.1).fit(X, y).compact(0.1)


def test_bad_arguments_are_named(board):
    X, y, model = board
    with pytest.raises(NotFittedError):
        ws.SVC().compact(0.1)
    for wrong in (0.0, -1.0, np.nan, "small", None):
        with pytest.raises(ValueError, match="tolerance"):
            model.compact(wrong)
    for wrong in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="quantile"):
            model.compact(0.1, rows=X, quantile=wrong)
    with pytest.raises(ValueError, match="pass the rows"):
        model.compact(0.1, quantile=0.5)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.compact(0.1, rows=X[:, :1])
    with pytest.raises(ValueError, match="polynomial kernel is not bounded"):
        ws.SVC(kernel="poly", gamma=1.0).fit(X[:200], y[:200]).compact(0.1)


@pytest.mark.parametrize("kind", ["svc", "svc of three", "svr"])
def test_a_compact_linear_machine_is_saved(kind, tmp_path):
    X, y = data(kind)
    small = machine(kind, kernel="linear").fit(X, y).compact(0.1)
    small.save(tmp_path / "m.street")
    again = ws.load(tmp_path / "m.street")
    assert again.compaction_ == small.compaction_
    assert np.array_equal(again.predict(X), small.predict(X))


def test_a_compact_model_is_called_approximate(board):
    model = board[2]
    small = model.compact(0.5)
    assert small.certificate_.status == "approximate"
    assert {one.status for one in small.certificates_} == {"approximate"}
    assert small.certificate_.primal_objective == model.certificate_.primal_objective
