"""Float32 where a bound on its error leaves no doubt: no figure of an examination moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import widestreet as ws
from conftest import TOL
from reference.duals import MODELS
from support.devices import PlainDevice
from support.fitting import build_dual, in_reference_terms
from support.problems import random_feasible
from widestreet._src.certificate import (
    Examined,
    LocalParts,
    Part,
    examine,
    examine_parts,
    float64_where_needed,
)
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Laplacian, Linear, Poly, Sigmoid
from widestreet._src.problems.formulations import c_svc, eps_svr
from widestreet._src.rows import DeviceRows, as_rows
from widestreet.datasets import checkerboard, friedman, twonorm

pytestmark = pytest.mark.numeric


@pytest.fixture
def small(monkeypatch):
    """Problems of any size are large enough."""
    monkeypatch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)


def assert_same(found, whole) -> None:
    """The figures of two examinations of a point are equal, but for the order of sums."""
    scale = max(1.0, abs(whole.primal), abs(whole.dual))
    assert found.primal == pytest.approx(whole.primal, abs=1e-11 * scale)
    assert found.dual == pytest.approx(whole.dual, abs=1e-11 * scale)
    assert found.violation == pytest.approx(whole.violation, abs=1e-11 * scale)
    assert found.infeasibility == whole.infeasibility <= TOL.feasibility
    np.testing.assert_allclose(found.bias, whole.bias, atol=1e-11 * scale)


def both(gram, dual, beta, place=None):
    """Examine with and without sparing float64; and which rows were not spared."""
    gram = gram.select(place)
    part = Part.whole(gram, dual, beta)
    found = examine_parts(LocalParts([part]), dual.total, convex=True)
    return found, examine(gram, dual, beta), part.scores.exact


# -- the bound -----------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 40),
    power=st.floats(-3, 1.2),
    gamma=st.floats(0.01, 10),
    storage=st.sampled_from(["centred", "as it is", "zeros", "csr"]),
    tight=st.booleans(),
)
def test_scores_are_off_by_no_more_than_the_bound(seed, d, power, gamma, storage, tight):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, d)) * 10**power
    if storage in ("zeros", "csr"):
        X[rng.random(X.shape) < 0.85] = 0
    rows = as_rows(sparse.csr_array(X) if storage == "csr" else X, centred=storage == "centred")
    gram = Gram(RBF(gamma), rows)
    I, J = np.arange(90), np.arange(0, 90, 2)
    coef = rng.normal(size=len(J)) * 10 ** rng.uniform(-3, 4, size=len(J))
    rough = gram.rough_scan(I, J, coef, tight=tight)
    if rough is None:  # rows too long: nothing is claimed
        assert gram._backend._longest * gamma > 100
        return
    score, error = rough
    exact = gram.scan(I, J, coef, dtype=np.float64)
    assert (np.abs(score - exact) <= error).all()


@pytest.mark.parametrize("power", [-60, -45, -40, -37, -30, -10, 10, 30, 37, 40, 45, 60])
@pytest.mark.parametrize("tight", [False, True])
def test_any_gamma(power, tight, rng):
    """Factors that float32 cannot hold make no bound."""
    gamma = 10.0**power
    X = rng.normal(size=(60, 3)) * gamma**-0.5
    gram = Gram(RBF(gamma), as_rows(X, centred=True))
    every, coef = np.arange(60), X[:, 0] / np.abs(X).max()
    rough = gram.rough_scan(every, every, coef, tight=tight)
    assert (rough is None) == (abs(power) > 36)
    if rough is not None:
        exact = gram.scan(None, None, coef, dtype=np.float64)
        assert (np.abs(rough[0] - exact) <= rough[1]).all()


@pytest.mark.parametrize("scale", [1e-20, 1e-21, 1e17])
def test_features_of_any_size_are_certified_honestly(scale, small):
    X = np.random.default_rng(0).normal(size=(3000, 3)) * scale
    model = ws.OneClassSVM(nu=0.15, random_state=0).fit(X)
    again = ws.OneClassSVM(nu=0.15, random_state=0).fit(X / scale)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.dual_objective == pytest.approx(
        again.certificate_.dual_objective, rel=1e-5
    )


def test_a_group_without_exact_rows_leaves_everything_in_doubt(rng, small):
    X = rng.normal(size=(6, 2))
    dual = build_dual("nu_svc", np.array([1.0, -1, 1, -1, 1, -1]), C=1.0)
    beta = np.array([[0.3, 0, 0, 0, 0, 0]])  # of the positive group only
    _, _, exact = both(Gram(RBF(1.0), as_rows(X)), dual, beta)
    assert exact.all()


def test_a_device_scores_all_rows_in_one_call_if_that_is_faster(rng, small):
    X = rng.normal(size=(300, 3))
    dual = c_svc(np.where(X[:, 0] + 0.3 * rng.normal(size=300) > 0, 1.0, -1.0), 1.0)
    beta, device = random_feasible(in_reference_terms(dual), rng), PlainDevice()
    rows = DeviceRows(as_rows(X, centred=True), device, 1 << 30)
    found, whole, exact = both(Gram(RBF(0.5), rows), dual, beta)
    assert_same(found, whole)
    support = np.count_nonzero(beta.any(axis=0))
    assert device.scans == [(300, support, True)] * 2  # of both examinations
    assert exact.sum() >= support


def test_the_bound_says_something():
    X, y = twonorm(2000, random_state=0)
    gram = Gram(RBF(0.05), as_rows(X, centred=True))
    score, error = gram.rough_scan(np.arange(2000), np.arange(500), y[:500] * 1.0)
    assert error.max() < 0.01 < np.abs(score).max()


@pytest.mark.parametrize("kernel", [Linear(), Poly(1.0, 0.0, 3), Sigmoid(1.0, 0.0), Laplacian(1.0)])
def test_no_bound_is_claimed_for_other_kernels(kernel, rng, small):
    X = rng.normal(size=(60, 3))
    gram = Gram(kernel, as_rows(X))
    assert gram.rough_scan(np.arange(60), np.arange(60), np.ones(60)) is None
    dual = c_svc(np.where(X[:, 0] > 0, 1.0, -1.0), 1.0)
    _, _, exact = both(gram, dual, random_feasible(in_reference_terms(dual), rng))
    assert exact.all()


# -- the figures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@given(seed=st.integers(0, 2**32 - 1), part=st.floats(0, 1))
def test_figures_of_any_point_are_the_same(model, seed, part):
    """Points of any quality: most rows may violate, or none."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = rng.normal(size=80) + X[:, 0]
    dual = build_dual(model, np.sign(y) if model.endswith("svc") else y, C=3.0)
    beta = random_feasible(in_reference_terms(dual), rng)
    gram = Gram(RBF(0.5), as_rows(X, centred=True))
    idle = rng.random(80) < part
    if not dual.total.any():  # fewer support vectors leave more rows to be spared
        beta[:, idle] = 0.0
        beta = dual.nearest(beta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(float64_where_needed, "_SCREENING_VALUES", 0)
        patch.setattr(float64_where_needed, "FLOAT64_FRACTION", 2.0)
        assert_same(*both(gram, dual, beta)[:2])


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_a_solution_spares_most_rows(C, small):
    X, y = checkerboard(3000, random_state=1)
    model = ws.SVC(gamma=2.0, C=C, random_state=0).fit(X, y)
    beta = np.zeros((1, 3000))
    beta[0, model.support_] = model.dual_coef_[0]
    dual = c_svc(np.where(y == model.classes_[1], 1.0, -1.0), C)
    gram = Gram(RBF(2.0), as_rows(X, centred=True))
    found, whole, exact = both(gram, dual, beta)
    assert_same(found, whole)
    assert found.violation <= 1e-3
    assert exact[model.support_].all()
    assert not exact.all()


def test_a_regression_spares_rows_inside_the_tube(small):
    X, y = friedman(2000, random_state=1)
    model = ws.SVR(gamma=0.5, C=1.0, epsilon=2.0, random_state=0).fit(X, y)
    coef = np.zeros(2000)
    coef[model.support_] = model.dual_coef_[0]
    beta = np.stack([np.maximum(coef, 0), np.minimum(coef, 0)])
    gram = Gram(RBF(0.5), as_rows(X, centred=True))
    found, whole, exact = both(gram, eps_svr(y, 1.0, 2.0), beta)
    assert_same(found, whole)
    assert 0 < exact.sum() < 2000


def test_large_coefficients_of_both_signs_leave_few_rows_in_doubt(small, rng):
    """A solution whose scores are sums of terms 1e5 times as large; the rest is inside the tube."""
    X, C = rng.random((4000, 10)), 200.0
    coef = np.repeat([C, -C, 0.0], [800, 800, 2400])
    gram = Gram(RBF(0.5), as_rows(X, centred=True))
    score = gram.scan(None, None, coef)
    away = np.where(coef == 0, rng.uniform(-1, 1, 4000), np.sign(coef) * rng.uniform(1, 2, 4000))
    beta = np.stack([np.maximum(coef, 0), np.minimum(coef, 0)])
    found, whole, exact = both(gram, eps_svr(score + away, C, 1.0), beta)
    assert_same(found, whole)
    assert exact[:1600].all()
    assert exact[1600:].mean() <= 0.1


def test_rows_at_other_places(small, rng):
    X, y = checkerboard(2000, random_state=1)
    model = ws.SVC(gamma=2.0, C=10.0, random_state=0).fit(X, y)
    order = rng.permutation(2000)
    beta = np.zeros((1, 2000))
    beta[0, model.support_] = model.dual_coef_[0]
    dual = c_svc(np.where(y[order] == model.classes_[1], 1.0, -1.0), 10.0)
    gram = Gram(RBF(2.0), as_rows(X, centred=True))
    found, whole, _ = both(gram, dual, np.ascontiguousarray(beta[:, order]), order)
    assert_same(found, whole)
    assert found.violation <= 1e-3


def test_a_violator_far_from_the_rest_is_found(small, rng):
    """A row without coefficient on the wrong side is what a check is for."""
    X = np.concatenate([rng.normal(size=(300, 2)) - 3, rng.normal(size=(300, 2)) + 3])
    y = np.repeat([-1.0, 1.0], 300)
    model = ws.SVC(gamma=0.1, random_state=0).fit(X, y)
    beta = np.zeros((1, 600))
    beta[0, model.support_] = model.dual_coef_[0]
    idle = np.setdiff1d(np.arange(600), model.support_)[7]
    y[idle] *= -1
    gram = Gram(RBF(0.1), as_rows(X, centred=True))
    found, whole, exact = both(gram, c_svc(y, 1.0), beta)
    assert found.violation == whole.violation > 1
    assert exact[idle]
    assert not exact.all()


def test_scores_continue_where_others_ended(small):
    X, y = checkerboard(300, random_state=0)
    gram, dual = Gram(RBF(2.0), as_rows(X)), c_svc(y, 1.0)
    beta = np.where(np.arange(300) % 4 == 0, dual.upper + dual.lower, 0.0)
    one, other = Part.whole(gram, dual, beta), Part.whole(gram, dual, beta)
    first = one.extremes()
    limits = float64_where_needed.Limits(first.high, first.low)
    one.screen(limits)
    point = Examined(1, one.scores.columns, one.scores.coef)
    other.scores.resume(one.scores.record(point), None)
    assert other.repeat([limits]) == one.scores.counts[-1]
    np.testing.assert_array_equal(other.scores.score, one.scores.score)
    assert other.extremes().norm == one.extremes().norm
