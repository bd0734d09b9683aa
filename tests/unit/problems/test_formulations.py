"""Formulations: boxes, feasibility, readings of biases, and squared losses against exact QPs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import LinearSVC, LinearSVR

import widestreet as ws
from conftest import TOL
from reference import kernels
from support.fitting import decision
from widestreet._src.problems.formulations import (
    CSVC,
    EpsilonSVR,
    HardMargin,
    NuSVC,
    NuSVR,
    OneClass,
    largest_nu,
)

pytestmark = pytest.mark.numeric

GAMMA = 0.5


# -- boxes, feasibility, readings ------------------------------------------------------------------


def test_boxes():
    weight = np.array([1.0, 2.0, 5.0])
    assert np.array_equal(CSVC(C=3.0).box(weight), 3.0 * weight)
    assert np.array_equal(EpsilonSVR(C=3.0).box(weight), 3.0 * weight)
    assert np.array_equal(NuSVR(C=3.0).box(weight), 3.0 * weight)
    assert np.array_equal(NuSVR(C=8.0, scaling="schoelkopf").box(weight), weight)
    for formulation in (NuSVC(), OneClass(), HardMargin()):
        assert np.array_equal(formulation.box(weight), weight)


@given(first=st.floats(0.1, 10), second=st.floats(0.1, 10), nu=st.floats(0.01, 1.0))
def test_the_nearest_feasible_nu(first, second, nu):
    target, box = np.array([1.0, -1.0]), np.array([first, second])
    found = NuSVC(nu).feasible(target, box)
    assert found.nu == pytest.approx(min(nu, largest_nu(first, second)), rel=TOL.feasibility)
    found.dual(target, box).feasible_point()  # which raises if there is none
    assert found.feasible(target, box) == found


def test_an_infeasible_nu_names_the_classes():
    formulation = NuSVC(0.9)
    with pytest.raises(ValueError, match=r"nu=0.9.*classes a and b is 0.5; lower nu"):
        formulation.check(np.array([1.0, 3.0]), ["a", "b"])
    formulation.check(np.array([1.0, 1.1]), ["a", "b"])


def test_readings():
    assert CSVC().read(np.array([2.0]), 1e-3).intercept == 2.0
    found = NuSVC().read(np.array([-1.0, 3.0]), 1e-3)
    assert (found.intercept, found.margin, found.divisor) == (1.0, 2.0, 2.0)
    none = NuSVC().read(np.array([1.0, 1.0]), 1e-3)
    assert (none.margin, none.divisor) == (None, 1.0)
    tube = NuSVR().read(np.array([3.0, 1.0]), 1e-3)
    assert (tube.intercept, tube.attributes) == (2.0, {"epsilon_": 1.0})
    assert OneClass().read(np.array([-4.0]), 1e-3).attributes["offset_"].tolist() == [4.0]


def test_another_parameter_is_another_formulation():
    assert replace(EpsilonSVR(C=1.0, epsilon=0.2), C=3.0) == EpsilonSVR(C=3.0, epsilon=0.2)


# -- squared losses --------------------------------------------------------------------------------


def optimum(kernel, target, cost, epsilon=None) -> float:
    """The least primal objective of a squared loss, by a general solver over (c, b).

    With f = K c + b the objective 1/2 c'Kc + sum cost loss(f)^2 is smooth.
    """

    def excess(f):
        if epsilon is None:
            return np.maximum(1.0 - target * f, 0.0), -target
        residual = f - target
        return np.maximum(np.abs(residual) - epsilon, 0.0), np.sign(residual)

    def objective(z):
        c, b = z[:-1], z[-1]
        scores = kernel @ c
        over, slope = excess(scores + b)
        outer = 2.0 * cost * over * slope
        value = 0.5 * c @ scores + cost @ over**2
        return value, np.append(scores + kernel @ outer, outer.sum())

    start = np.zeros(len(target) + 1)
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B",
        options={"maxiter": 100_000, "maxfun": 100_000, "ftol": 0.0, "gtol": 1e-10},
    )  # fmt: skip
    return float(found.fun)


def rows(rng, n=40):
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + 0.7 * rng.normal(size=n), rng.integers(1, 4, n).astype(float)


def exactly(kind, **options):
    loss = {ws.SVC: "squared_hinge", ws.SVR: "squared_epsilon_insensitive"}[kind]
    return kind(gamma=GAMMA, loss=loss, tol=TOL.twins, gap_tol=TOL.twins, n_jobs=1, **options)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.3])
def test_squared_losses_reach_the_optimum(C, epsilon, rng):
    X, value, weight = rows(rng)
    if epsilon is None:
        model, target = exactly(ws.SVC, C=C), np.sign(value)
    else:
        model, target = exactly(ws.SVR, C=C, epsilon=epsilon), value
    certificate = model.fit(X, target, weight).certificate_
    wanted = optimum(kernels.matrix("rbf", X, gamma=GAMMA), target, C * weight, epsilon)
    assert certificate.status == "optimal"
    assert certificate.primal_objective == pytest.approx(wanted, rel=TOL.objective_rel)
    assert certificate.dual_objective == pytest.approx(wanted, rel=TOL.objective_rel)


@pytest.mark.parametrize("kind", [ws.SVC, ws.SVR])
def test_weights_are_repeated_rows(kind, rng):
    X, value, weight = rows(rng)
    target = np.sign(value) if kind is ws.SVC else value
    times = weight.astype(int)
    one = exactly(kind, C=2.0).fit(X, target, weight)
    many = exactly(kind, C=2.0).fit(np.repeat(X, times, axis=0), np.repeat(target, times))
    np.testing.assert_allclose(decision(one, X), decision(many, X), atol=TOL.decision, rtol=0)
    coef = np.zeros(times.sum())
    coef[many.support_] = np.ravel(many.dual_coef_)
    starts = np.cumsum(times) - times
    for row, (start, count) in enumerate(zip(starts, times, strict=True)):
        assert len(np.unique(coef[start : start + count])) == 1, row  # equal shares


def test_bounds_of_squared_losses_are_never_active(rng):
    X, value, weight = rows(rng)
    for formulation, target in (
        (CSVC(C=5.0, loss="squared"), np.sign(value)),
        (EpsilonSVR(C=5.0, epsilon=0.2, loss="squared"), value),
    ):
        box = formulation.box(weight)
        dual = formulation.dual(target, box)
        assert dual.diagonal == pytest.approx(1 / (2 * box))
        kind = ws.SVC if isinstance(formulation, CSVC) else ws.SVR
        options = {} if kind is ws.SVC else {"epsilon": 0.2}
        model = exactly(kind, C=5.0, **options).fit(X, target, weight)
        coef = np.zeros(len(X))
        coef[model.support_] = np.ravel(model.dual_coef_)
        assert (np.abs(coef) < np.maximum(dual.upper, -dual.lower).max(axis=0)).all()


@pytest.mark.parametrize("kind", [ws.SVC, ws.SVR])
def test_liblinear_does_not_find_anything_better(kind, rng):
    """Its objective is the same but for the intercept, which it regularises a little."""
    X = rng.normal(size=(300, 4))
    value = X @ np.arange(1.0, 5.0) + rng.normal(size=300)
    C, epsilon = 0.5, 0.1
    target = np.sign(value) if kind is ws.SVC else value
    if kind is ws.SVC:
        peer = LinearSVC(C=C, dual=False, intercept_scaling=100.0).fit(X, target)
    else:
        loss = "squared_epsilon_insensitive"
        peer = LinearSVR(C=C, loss=loss, dual=False, epsilon=epsilon, intercept_scaling=100.0)
        peer.fit(X, target)
    w, f = np.ravel(peer.coef_), X @ np.ravel(peer.coef_) + peer.intercept_
    over = 1.0 - target * f if kind is ws.SVC else np.abs(target - f) - epsilon
    theirs = 0.5 * w @ w + C * float((np.maximum(over, 0.0) ** 2).sum())
    model = exactly(kind, C=C, **({} if kind is ws.SVC else {"epsilon": epsilon}))
    certificate = model.set_params(kernel="linear").fit(X, target).certificate_
    assert certificate.status == "optimal"
    assert certificate.primal_objective <= theirs
    assert certificate.primal_objective == pytest.approx(theirs, rel=TOL.certified_gap_rel)


@pytest.mark.parametrize("strategy", ["auto", "smo", "isvm", "randsvm", "rsvm", "prsvm"])
def test_every_strategy_ends_at_the_optimum(strategy, rng):
    X, value, _ = rows(rng, 300)
    objective = [
        exactly(ws.SVC, C=2.0, strategy=name, random_state=0).fit(X, np.sign(value)).certificate_
        for name in ("auto", strategy)
    ]
    assert {one.status for one in objective} == {"optimal"}
    assert objective[1].dual_objective == pytest.approx(
        objective[0].dual_objective, rel=TOL.objective_rel
    )


def test_several_classes_are_those_of_their_pairs(rng):
    X = rng.normal(size=(120, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=120), [-0.5, 0.5])
    model = exactly(ws.SVC, C=2.0, decision_function_shape="ovo").fit(X, y)
    assert {one.status for one in model.certificates_} == {"optimal"}
    values = model.decision_function(X)
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        mine = (y == i) | (y == j)
        alone = exactly(ws.SVC, C=2.0).fit(X[mine], y[mine])
        np.testing.assert_allclose(
            values[:, p], -alone.decision_function(X), atol=TOL.decision, rtol=0
        )


def test_warm_starts_of_squared_losses(rng):
    X, value, weight = rows(rng)
    model = exactly(ws.SVC, C=1.0, warm_start=True).fit(X, np.sign(value), weight)
    model.set_params(C=3.0).fit(X, np.sign(value), weight)
    alone = exactly(ws.SVC, C=3.0).fit(X, np.sign(value), weight)
    np.testing.assert_allclose(decision(model, X), decision(alone, X), atol=TOL.decision, rtol=0)


@pytest.mark.parametrize(("kind", "loss"), [(ws.SVC, "hinge_squared"), (ws.SVR, "huber")])
def test_unknown_losses_are_refused(kind, loss, rng):
    X, value, _ = rows(rng)
    with pytest.raises(ValueError, match=f"loss must be one of .*got '{loss}'"):
        kind(loss=loss).fit(X, np.sign(value))
