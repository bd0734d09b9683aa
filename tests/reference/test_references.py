"""The references are tested too: against known optima, against each other, against scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import svm

from conftest import TOL
from reference import duals, kernels, kkt, merge, newton, shard, smo
from reference.duals import MODELS
from reference.qp import solve_qp
from support.problems import random_feasible, reference_optimum, toy_model, two_points

C, EPSILON, NU = 3.0, 0.1, 0.4  # those of toy_model


def optimum(qp: duals.QP):
    return solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper)


# -- kernels -----------------------------------------------------------------------------------


def test_kernels_are_their_definitions(rng):
    x, s = rng.normal(size=4), rng.normal(size=4)
    gamma, coef0, degree = 0.3, 0.7, 3
    dot = sum(a * b for a, b in zip(x, s, strict=True))
    expected = {
        "linear": dot,
        "rbf": math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, s, strict=True))),
        "poly": (gamma * dot + coef0) ** degree,
        "sigmoid": math.tanh(gamma * dot + coef0),
        "laplacian": math.exp(-gamma * sum(abs(a - b) for a, b in zip(x, s, strict=True))),
    }
    assert set(expected) == set(kernels.KERNELS)
    for name, value in expected.items():
        K = kernels.matrix(name, x[None], s[None], gamma=gamma, coef0=coef0, degree=degree)
        assert K.dtype == np.float64
        assert K.item() == pytest.approx(value, rel=TOL.kernel_float64)
    with pytest.raises(ValueError, match="unknown kernel 'cubic'"):
        kernels.matrix("cubic", x[None])


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_scan_is_a_product_and_storage_does_not_matter(kernel, rng):
    X, coef = np.round(rng.normal(size=(7, 3)), 1).astype(np.float32), rng.normal(size=5)
    S = X[:5]
    u = kernels.scan(kernel, X, S, coef, gamma=0.2)
    K = kernels.matrix(kernel, X, S, gamma=0.2)
    byhand = [sum(coef[j] * K[i, j] for j in range(5)) for i in range(7)]
    np.testing.assert_allclose(u, byhand, atol=TOL.exact * np.abs(coef).sum())
    for other in (sparse.csr_matrix(X), np.asfortranarray(X), X.astype(np.float64)):
        assert np.array_equal(kernels.scan(kernel, other, other[:5], coef, gamma=0.2), u)
    full = kernels.matrix(kernel, X, gamma=0.2)
    assert np.array_equal(kernels.diagonal(kernel, X, gamma=0.2), np.diag(full))


# -- the QP ------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [1e-4, 0.5, 1.0, 1e6])
def test_qp_two_points(penalty):
    problem, best = two_points(penalty)
    found = reference_optimum(problem)
    assert found.a == pytest.approx([min(penalty, 0.5)] * 2, rel=TOL.qp_gap)
    assert -found.objective == pytest.approx(best, rel=TOL.qp_gap)


def test_qp_projects_onto_the_simplex(rng):
    """Min |a - v|^2 / 2, sum a = 1, a >= 0 is max(v - t, 0) with t found by sorting."""
    v = rng.normal(size=50)
    descending = np.sort(v)[::-1]
    t = (np.cumsum(descending) - 1) / np.arange(1, 51)
    t = t[np.flatnonzero(descending > t)[-1]]
    found = solve_qp(np.eye(50), -v, np.ones((1, 50)), [1.0], np.full(50, 10.0))
    np.testing.assert_allclose(found.a, np.maximum(v - t, 0), atol=TOL.qp_gap)
    assert np.array_equal(found.a > 0, v > t)  # the polished point is on its bounds exactly


@pytest.mark.parametrize("seed", [24, 28, 29])
def test_qp_goes_on_while_the_gap_falls_slowly(seed):
    """Rank one and a large box: for several steps the gap falls, but by less than half in each."""
    rng = np.random.Generator(np.random.PCG64(seed))
    y = np.where(rng.random(58) < 0.5, 1.0, -1.0)
    v = y * np.round(rng.normal(size=58) * 8) ** 3
    found = solve_qp(
        np.outer(v, v) / np.square(v).max(), -np.ones(58), y[None], [0.0], np.full(58, 1e6)
    )
    assert found.objective - found.lower_bound <= TOL.qp_gap * abs(found.objective)


def test_qp_with_no_choice():
    K = np.eye(4)
    assert np.array_equal(optimum(duals.one_class(K, 1.0)).a, np.ones(4))
    y = np.array([1.0, 1.0, 1.0, -1.0])
    forced = optimum(duals.nu_svc(K, y, 0.5))  # nu = 2 min(n+, n-) / n
    assert forced.a == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1], rel=TOL.qp_gap)
    assert np.array_equal(optimum(duals.c_svc(K, np.ones(4), 2.0)).a, np.zeros(4))
    with pytest.raises(ValueError, match="contradict"):
        optimum(duals.nu_svc(K, y, 0.6))


@given(
    seed=st.integers(0, 2**32 - 1), rank=st.integers(1, 8), power=st.integers(-4, 6),
    model=st.sampled_from(MODELS),
)  # fmt: skip
def test_qp_proves_its_own_accuracy(seed, rank, power, model):
    """Low rank, equal rows, zero weights, any C: the gap is small, or small beside its terms."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    G = np.round(rng.normal(size=(n, rank)), 2)
    G[rng.random(n) < 0.3] = G[0]
    weight = np.where(np.arange(n) < 2, 1.0, rng.choice([0.0, 0.5, 1.0], n))
    y = np.concatenate([[-1.0, 1.0], rng.choice([-1.0, 1.0], n - 2)])
    nu, penalty = rng.choice([0.05, 0.3, 1.0]), 10.0**power
    if model == "nu_svc":
        nu *= 2 * min(weight[y > 0].sum(), weight[y < 0].sum()) / weight.sum()
    if model == "nu_svr":
        penalty = min(penalty, 1e3)  # 1'a = C nu W keeps every a large: digits go with C
    if model.endswith("svr"):
        y = rng.normal(size=n)
    epsilon = rng.choice([0.0, 0.1, 1.0])
    qp = duals.build(model, G @ G.T, y, C=penalty, epsilon=epsilon, nu=nu, weight=weight)
    a, objective, lower_bound = optimum(qp)
    terms = a @ np.abs(qp.Q) @ a / 2 + np.abs(qp.p) @ a
    allowed = max(TOL.qp_gap * abs(objective), TOL.qp_cancelled * terms)
    assert 0 <= objective - lower_bound <= allowed
    assert kkt.feasibility(duals.in_beta_space(qp), qp.beta(a)) <= TOL.feasibility


# -- the five duals and their optimality conditions --------------------------------------------


def test_beta_space_tables():
    y, K, w = np.array([2.0, -1.0]), np.eye(2), np.array([1.0, 3.0])
    dual = duals.in_beta_space(duals.eps_svr(K, y, C * w, EPSILON))
    np.testing.assert_allclose(dual.target, [y - EPSILON, y + EPSILON])
    np.testing.assert_array_equal(dual.lower, [[0, 0], -C * w])
    np.testing.assert_array_equal(dual.upper, [C * w, [0, 0]])
    assert np.array_equal(dual.totals, [0.0])
    dual = duals.in_beta_space(duals.nu_svr(K, y, C, NU, w))
    np.testing.assert_array_equal(dual.target, [y, y])
    np.testing.assert_array_equal(dual.group, [[0, 0], [1, 1]])
    np.testing.assert_allclose(dual.totals, [C * NU * 4 / 2, -C * NU * 4 / 2])
    dual = duals.in_beta_space(duals.nu_svc(K, np.sign(y), NU, w))
    np.testing.assert_array_equal(dual.group, [[0, 1]])
    np.testing.assert_allclose(dual.totals, [NU * 4 / 2, -NU * 4 / 2])
    np.testing.assert_array_equal(dual.lower, [[0, -3]])
    dual = duals.in_beta_space(duals.one_class(K, NU, w))
    np.testing.assert_array_equal(dual.upper, [w])
    np.testing.assert_allclose(dual.totals, [NU * 4])


@pytest.mark.parametrize("model", MODELS)
def test_primal_bounds_dual_and_meets_it_at_the_optimum(model, rng):
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], 30)
    _, K, qp = toy_model(model, weight=weight)
    dual, found = duals.in_beta_space(qp), optimum(qp)
    beta = qp.beta(found.a)
    best = kkt.dual_objective(K, dual, beta)
    assert best == pytest.approx(-found.objective, rel=TOL.qp_gap)
    assert kkt.feasibility(dual, beta) <= TOL.feasibility
    assert kkt.kkt_violation(K, dual, beta) <= TOL.violation
    assert kkt.gap(K, dual, beta) == pytest.approx(0, abs=TOL.strong_duality * abs(best))
    for _ in range(20):
        other = random_feasible(dual, rng)
        assert kkt.feasibility(dual, other) <= TOL.feasibility
        value = kkt.dual_objective(K, dual, other)
        primal = kkt.primal_objective(K, dual, other).value
        assert value < best < primal
        assert kkt.kkt_violation(K, dual, other) > TOL.violation


@pytest.mark.parametrize("model", MODELS)
def test_primal_is_least_at_the_bias_it_names(model, rng):
    _, K, qp = toy_model(model)
    dual = duals.in_beta_space(qp)
    beta = random_feasible(dual, rng)
    value, bias = kkt.primal_objective(K, dual, beta)
    F = kkt.indicator(K, dual, beta)

    def at(b) -> float:
        value = kkt.quadratic(K, beta)
        for g, total in enumerate(dual.totals):
            m = dual.group == g
            value += total * b[g] + kkt.loss(F[m], dual.lower[m], dual.upper[m], b[g])
        return float(value)

    assert at(bias) == pytest.approx(value, rel=TOL.exact)
    for step in rng.normal(size=(50, len(bias))) * 10.0 ** rng.uniform(-6, 1, size=(50, 1)):
        assert at(bias + step) >= value - TOL.exact * abs(value)


def test_primal_of_c_svc_is_the_hinge_loss(rng):
    problem, K, qp = toy_model("c_svc")
    dual = duals.in_beta_space(qp)
    beta = random_feasible(dual, rng)
    value, (b,) = kkt.primal_objective(K, dual, beta)
    f = K @ beta[0] + b
    hinge = 0.5 * beta[0] @ K @ beta[0] + C * np.maximum(0, 1 - problem.y * f).sum()
    assert value == pytest.approx(hinge, rel=TOL.exact * len(K))


def test_kkt_functions_notice_corruption():
    _, K, qp = toy_model("c_svc")
    dual, beta = duals.in_beta_space(qp), qp.beta(optimum(qp).a)
    outside = beta.copy()
    outside[0, 0] = dual.lower[0, 0] - 1.0
    unbalanced = beta * np.where(qp.sign > 0, 0.9, 1.0)
    for bad in (outside, unbalanced):
        assert kkt.feasibility(dual, bad) > 1e3 * TOL.feasibility
    assert kkt.kkt_violation(K, dual, 0.9 * beta) > 1e3 * TOL.violation
    assert kkt.gap(K, dual, 0.9 * beta) > 1e3 * TOL.strong_duality
    assert 0 < kkt.rounding_floor(K, beta) < TOL.violation


def sklearn_twin(model: str):
    common = {"kernel": "rbf", "gamma": 0.5, "tol": 1e-10}
    return {
        "c_svc": svm.SVC(C=C, **common),
        "eps_svr": svm.SVR(C=C, epsilon=EPSILON, **common),
        "nu_svc": svm.NuSVC(nu=NU, **common),
        "nu_svr": svm.NuSVR(C=C, nu=NU, **common),
        "one_class": svm.OneClassSVM(nu=NU, **common),
    }[model]


@pytest.mark.parametrize("model", MODELS)
def test_decision_values_are_those_of_scikit_learn(model):
    """Scores plus bias, the bias being the mean over groups; nu-SVC divides by rho."""
    problem, K, qp = toy_model(model)
    dual, found = duals.in_beta_space(qp), optimum(qp)
    beta = qp.beta(found.a)
    bias = shard.extremes(kkt.scores(K, beta), beta, dual).mean(axis=1).astype(np.float64)
    decision = np.asarray(kkt.scores(K, beta) + bias.mean(), dtype=np.float64)
    if model == "nu_svc":
        decision /= (bias[1] - bias[0]) / 2
    estimator = sklearn_twin(model).fit(problem.X, problem.y)
    predict = estimator.predict if model.endswith("svr") else estimator.decision_function
    tolerance = TOL.sklearn_decision * max(10, np.abs(found.a).sum())
    np.testing.assert_allclose(decision, predict(problem.X), atol=tolerance)


# -- SMO and Newton ----------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_smo_reaches_the_qp(model, rng):
    _, K, qp = toy_model(model, weight=rng.choice([0.0, 1.0, 2.0], 30))
    dual = duals.in_beta_space(qp)
    result = smo.smo(K, dual, tol=TOL.smo_tol)
    assert result.violation <= TOL.smo_tol
    assert kkt.kkt_violation(K, dual, result.beta) <= TOL.violation
    assert kkt.feasibility(dual, result.beta) <= TOL.feasibility
    best = -optimum(qp).objective
    assert kkt.dual_objective(K, dual, result.beta) == pytest.approx(best, rel=TOL.smo_rel)


@pytest.mark.parametrize("model", MODELS)
def test_smo_never_loses(model):
    _, K, qp = toy_model(model)
    dual = duals.in_beta_space(qp)
    beta = smo.feasible_start(dual)
    values = [kkt.dual_objective(K, dual, beta)]
    for _ in range(40):
        beta = smo.smo(K, dual, beta, tol=TOL.smo_tol, max_steps=1).beta
        values.append(kkt.dual_objective(K, dual, beta))
    assert (np.diff(values) >= -TOL.monotone * np.abs(values[1:])).all()
    assert values[-1] > values[0]


def test_smo_puts_contradictory_rows_at_their_bounds():
    """Equal rows, opposite labels: a step of no curvature goes all the way."""
    K = np.ones((2, 2))
    dual = duals.in_beta_space(duals.c_svc(K, [1.0, -1.0], [2.0, 3.0]))
    result = smo.smo(K, dual)
    assert result.steps == 1
    np.testing.assert_array_equal(result.beta, [[2.0, -2.0]])


@pytest.mark.parametrize("model", MODELS)
def test_newton_finishes_what_smo_began(model):
    _, K, qp = toy_model(model)
    dual = duals.in_beta_space(qp)
    beta = smo.smo(K, dual, tol=1e-2).beta
    before = kkt.dual_objective(K, dual, beta)
    for _ in range(len(K)):
        step = newton.newton_step(K, dual, beta)
        after = kkt.dual_objective(K, dual, step.beta)
        assert after >= before - TOL.monotone * abs(before)
        assert kkt.feasibility(dual, step.beta) <= TOL.feasibility
        beta, before = step.beta, after
        if step.theta == 1.0:
            break
    F = np.asarray(kkt.indicator(K, dual, beta), dtype=np.float64)
    for g in range(len(dual.totals)):
        free = F[(dual.group == g) & (dual.lower < beta) & (beta < dual.upper)]
        assert np.ptp(free) <= TOL.violation  # F = b on the free variables


def test_newton_stops_at_the_first_bound():
    K = np.diag([1.0, 1.0, 4.0])
    dual = duals.in_beta_space(duals.c_svc(K, [1.0, 1.0, -1.0], [0.2, 5.0, 5.0]))
    start = np.array([[0.1, 0.1, -0.2]])
    step = newton.newton_step(K, dual, start)
    assert step.n_free == 3
    assert 0 < step.theta < 1
    assert step.beta[0, 0] == 0.2
    assert kkt.dual_objective(K, dual, step.beta) > kkt.dual_objective(K, dual, start)
    last = newton.newton_step(K, dual, step.beta)
    assert (last.theta, last.n_free) == (1.0, 2)
    assert kkt.kkt_violation(K, dual, last.beta) <= TOL.smo_tol
    assert newton.newton_step(K, dual, np.array([[0.2, 0.0, -5.0]])).n_free == 0


# -- merging -----------------------------------------------------------------------------------


def test_merge_by_hand():
    X = np.array([[0.0, 1.0], [2.0, 2.0], [-0.0, 1.0], [2.0, 2.0], [0.0, 1.0]])
    y = np.array([1, 1, 1, -1, 1])
    merged = merge.merge(sparse.csr_matrix(X), y, [1.0, 2.0, 3.0, 4.0, 0.0])
    assert merged.first.tolist() == [0, 1, 3]
    assert merged.inverse.tolist() == [0, 1, 0, 2, 0]
    assert merged.weight.tolist() == [4.0, 2.0, 4.0]
    assert merged.y.tolist() == [1, 1, -1]
    assert not np.signbit(merged.X).any()
    shares = merge.expand(np.array([[3.0, 1.0, -2.0]]), merged.inverse, [1.0, 2.0, 3.0, 4.0, 0.0])
    assert shares.tolist() == [[1.0, 1.0, 2.0, -2.0, 0.0]]


# -- shards ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_survey_agrees_with_the_optimality_conditions(model, rng):
    _, K, qp = toy_model(model)
    dual = duals.in_beta_space(qp)
    for beta in (qp.beta(optimum(qp).a), random_feasible(dual, rng)):
        u = np.asarray(kkt.scores(K, beta), dtype=np.float64)
        primal, bias = kkt.primal_objective(K, dual, beta)
        high, low = shard.extremes(u, beta, dual).T
        violation = kkt.kkt_violation(K, dual, beta)
        assert max(0.0, (high - low).max()) == pytest.approx(violation, abs=TOL.violation)
        found = shard.violators(u, beta, dual, bias, tol=0.01)
        byhand = [
            v
            for v in range(beta.size)
            for excess in [dual.target.flat[v] - u[v % len(u)] - bias[dual.group.flat[v]]]
            if (beta.flat[v] < dual.upper.flat[v] and excess > 0.01)
            or (beta.flat[v] > dual.lower.flat[v] and -excess > 0.01)
        ]
        assert found.tolist() == byhand
        assert (found.size > 0) == (violation > 0.02)
        value = kkt.quadratic(K, beta) + bias @ dual.totals + shard.loss_sum(u, dual, bias).sum()
        assert float(value) == pytest.approx(primal, rel=TOL.exact * beta.size)


@given(seed=st.integers(0, 2**32 - 1), size=st.floats(-4, 1), model=st.sampled_from(MODELS))
def test_a_skipped_row_is_never_a_violator(seed, size, model):
    """Scores of an old model, the norm of the change: no row that may be skipped violates now."""
    rng = np.random.default_rng(seed)
    _, K, qp = toy_model(model)
    dual = duals.in_beta_space(qp)
    beta = random_feasible(dual, rng)
    change = 10.0**size * rng.normal(size=len(K)) * (rng.random(len(K)) < 0.2)
    old = K @ (beta.sum(axis=0) - change)
    bias = rng.normal(size=len(dual.totals))
    drift = math.sqrt(change @ K @ change)
    skip = shard.may_skip(old, beta, dual, bias, 1e-3, drift, np.diag(K))
    present = shard.violators(K @ beta.sum(axis=0), beta, dual, bias, 1e-3) % len(K)
    assert not skip[present].any()


def test_without_drift_exactly_the_rows_in_order_are_skipped(rng):
    _, K, qp = toy_model("eps_svr")
    dual = duals.in_beta_space(qp)
    beta = random_feasible(dual, rng)
    u, bias = K @ beta.sum(axis=0), np.zeros(1)
    skip = shard.may_skip(u, beta, dual, bias, 1e-3, 0.0, np.diag(K))
    rows = np.unique(shard.violators(u, beta, dual, bias, 1e-3) % len(K))
    assert np.array_equal(np.flatnonzero(~skip), rows)
    assert 0 < len(rows) < len(K)
    assert not shard.may_skip(u, beta, dual, bias, 1e-3, 1e3, np.diag(K)).any()
