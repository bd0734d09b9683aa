"""The 200 generated problems: they cover what they claim, and each is solved exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from reference import duals, kernels, kkt, merge, smo
from reference.qp import solve_qp
from support.fitting import as_exact_as_float64, beta_of, fitted, limited_by_float64
from support.problems import (
    STORAGES,
    TASKS,
    TRAITS,
    Problem,
    _generate,
    generate,
    kernel_matrix,
    reference_optimum,
    reference_qp,
)

# -- the generated problems --------------------------------------------------------------------


def test_generation_is_deterministic_and_a_prefix(problems):
    again = _generate.__wrapped__(30, 0)
    for one, other in zip(problems[:30], again, strict=True):
        assert one is not other
        for attribute in ("name", "C", "epsilon", "params", "kernel", "task"):
            assert getattr(one, attribute) == getattr(other, attribute)
        assert np.array_equal(kernels.dense(one.X), kernels.dense(other.X))
        assert np.array_equal(one.y, other.y)
    assert not np.array_equal(generate(5, seed=1)[0].y, problems[0].y)


def test_generated_problems_cover_what_they_claim(problems):
    combinations = {tuple(p.name.split()[1:4]) for p in problems}
    assert combinations == {(t, k, r) for t in TASKS for k in kernels.KERNELS for r in TRAITS}
    assert {p.name.split(maxsplit=4)[4] for p in problems} == set(STORAGES)
    assert len({p.name for p in problems}) == len(problems) == 200
    penalty = np.log10([p.C for p in problems])
    assert penalty.min() == -4
    assert penalty.max() == 6
    assert (np.histogram(penalty, bins=10, range=(-4, 6))[0] > 0).all()
    for p in problems:
        assert 6 <= p.X.shape[0] == len(p.y) <= 60
        assert 1 <= p.X.shape[1] <= 8
        assert p.X.dtype == p.name.split()[-1]
        if sparse.issparse(p.X):
            assert p.X.indices.dtype == p.X.indptr.dtype == p.name.split()[-2]
            assert isinstance(p.X, sparse.csr_array) == ("array" in p.name)
        if p.task == "svc":
            assert set(p.sign[p.box > 0]) == {-1.0, 1.0}
    with pytest.raises(ValueError, match="not convex"):
        reference_optimum(next(p for p in problems if p.kernel == "sigmoid"))


def test_traits_do_what_they_say(convex_problems):
    merged = {p: merge.merge(p.X, p.y) for p in convex_problems}
    for p in convex_problems:
        a, box = reference_optimum(p).a, np.tile(p.box, 1 if p.task == "svc" else 2)
        if "all_bound" in p.name:
            assert np.isin(a, [0.0, *box]).all(), p.name
            assert (np.abs(reference_qp(p).coef(a)) == p.box).all(), p.name
        if "zero_weight" in p.name:
            assert (p.box == 0).any()
            assert (a[box == 0] == 0).all()
        if "constant" in p.name:
            assert np.ptp(kernels.dense(p.X)[:, -1]) == 0
        if "duplicates" in p.name:
            assert len(merged[p].y) <= len(p.y) - len(p.y) // 3
        if "contradictory" in p.name:
            rows = merge.merge(p.X, np.zeros(len(p.y)))
            assert len(rows.y) < len(merged[p].y)
    huge = [p for p in convex_problems if p.task == "svc" and p.C == 1e6]
    at_bound = [(reference_optimum(p).a == p.box).any() for p in huge]
    assert any(at_bound)
    assert not all(at_bound)


# -- solved by the references ------------------------------------------------------------------


def test_qp_solves_every_generated_problem(convex_problems):
    for problem in convex_problems:
        found = reference_optimum(problem)
        assert found.objective < 0, problem.name
        gap = found.objective - found.lower_bound
        assert 0 <= gap <= TOL.qp_gap * abs(found.objective), problem.name
        qp, K = reference_qp(problem), kernel_matrix(problem)
        dual, beta = duals.in_beta_space(qp), qp.beta(found.a)
        assert kkt.feasibility(dual, beta) <= TOL.feasibility, problem.name
        assert kkt.kkt_violation(K, dual, beta) <= TOL.violation, problem.name
        assert kkt.gap(K, dual, beta) <= TOL.strong_duality * abs(found.objective), problem.name


def test_smo_reaches_the_qp_on_generated_problems(convex_problems):
    for problem in convex_problems[::4]:
        if problem.C > 1e3:  # pair steps alone take too many there
            continue
        K, qp = kernel_matrix(problem), reference_qp(problem)
        result = smo.smo(K, duals.in_beta_space(qp), tol=TOL.smo_tol)
        value = kkt.dual_objective(K, duals.in_beta_space(qp), result.beta)
        best = -reference_optimum(problem).objective
        assert value == pytest.approx(best, rel=TOL.smo_rel), problem.name


def test_merging_keeps_the_optimum(convex_problems):
    merging = [p for p in convex_problems if "duplicates" in p.name or "contradictory" in p.name]
    for problem in merging[:20]:
        merged = merge.merge(problem.X, problem.y, problem.sample_weight)
        assert len(merged.y) < len(problem.y)
        K, full = kernels.matrix(problem.kernel, merged.X, **problem.params), reference_qp(problem)
        box = problem.C * merged.weight
        if problem.task == "svc":
            small = duals.c_svc(K, merged.y, box)
        else:
            small = duals.eps_svr(K, merged.y, box, problem.epsilon)
        found = solve_qp(small.Q, small.p, small.A, small.d, small.upper)
        best = reference_optimum(problem).objective
        assert found.objective == pytest.approx(best, rel=2 * TOL.qp_gap)
        weight = np.ones(len(problem.y)) if problem.sample_weight is None else problem.sample_weight
        beta = merge.expand(small.beta(found.a), merged.inverse, problem.C * weight)
        dual = duals.in_beta_space(full)
        assert kkt.feasibility(dual, beta) <= TOL.feasibility
        assert kkt.gap(kernel_matrix(problem), dual, beta) <= TOL.strong_duality * abs(best)


# -- solved by the estimators ------------------------------------------------------------------


@pytest.mark.numeric
@limited_by_float64
@pytest.mark.parametrize("problem", generate(), ids=lambda problem: problem.name)
def test_every_generated_problem_is_solved_exactly(problem):
    """Objective, optimality conditions, constraints: judged from support_ and dual_coef_ alone."""
    K, dual = kernel_matrix(problem), reference_dual(problem)
    for strategy in ("auto", "smo"):
        model = fitted(problem, tol=TOL.violation, strategy=strategy)
        beta = beta_of(model)
        assert as_exact_as_float64(model.certificate_), strategy
        assert kkt.feasibility(dual, beta) <= TOL.feasibility
        violation, floor = kkt.kkt_violation(K, dual, beta), kkt.rounding_floor(K, beta)
        if model.certificate_.lost_in_rounding:  # two scores, each a sum of n products
            floor *= 2 * len(K)
        assert violation <= TOL.violation + floor
        if problem.convex:
            best = -reference_optimum(problem).objective
            assert kkt.dual_objective(K, dual, beta) == pytest.approx(best, rel=TOL.objective_rel)
        check_figures(model.certificate_, K, dual, beta, convex=problem.convex)


def reference_dual(problem: Problem) -> duals.BetaDual:
    return duals.in_beta_space(reference_qp(problem))


def check_figures(certificate, K, dual, beta, *, convex):
    """The certificate says of a point what the reference says, up to the rounding of a score."""
    assert certificate.n_rows > 0
    size = np.abs(beta).sum()
    terms = np.abs(dual.target).max() + size * max(1.0, np.abs(K).max())
    score = TOL.figures * np.finfo(np.float64).eps * terms
    box = (dual.upper - dual.lower).sum()
    violation, value = kkt.kkt_violation(K, dual, beta), kkt.dual_objective(K, dual, beta)
    primal = kkt.primal_objective(K, dual, beta).value
    assert certificate.kkt_violation == pytest.approx(violation, abs=2 * score)
    assert certificate.dual_objective == pytest.approx(value, abs=score * size)
    assert certificate.primal_objective == pytest.approx(primal, abs=score * (size + box))
    high, low = certificate.primal_objective, certificate.dual_objective
    if convex:
        assert certificate.gap == max(0.0, high - low)
        assert certificate.relative_gap == certificate.gap / max(abs(high), abs(low))
    else:  # nothing bounds the optimum, and nothing is claimed
        assert np.isnan([certificate.gap, certificate.relative_gap]).all()


@pytest.mark.numeric
@pytest.mark.parametrize("task", TASKS)
def test_the_certificate_bounds_the_distance_to_the_optimum(task, convex_problems):
    """Stopped early, the optimum lies between the two objectives: the gap is a promise."""
    for problem in [p for p in convex_problems if p.task == task][::5]:
        certificate = fitted(problem, tol=0.1).certificate_
        best = -reference_optimum(problem).objective
        slack = TOL.objective_rel * best
        low, high = certificate.dual_objective, certificate.primal_objective
        assert low - slack <= best <= high + slack, problem.name
