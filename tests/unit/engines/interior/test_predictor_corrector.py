"""The interior-point engine: the optimum of the quadratic programme, within its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import TOL
from reference import kkt
from reference.duals import MODELS, build
from reference.qp import solve_qp
from support.fitting import in_reference_terms
from support.low_rank import EVERY, KERNELS, engine, fixed, problem
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.interior.crossover import crossed_over

pytestmark = pytest.mark.numeric


def objective(gram, dual, beta) -> float:
    return dual.objective(beta, gram.block() @ beta.sum(axis=0))


def size_of_terms(gram, dual, beta) -> float:
    """The objective of the nu machines may be zero, as the difference of terms of this size."""
    size = np.abs(beta).sum(axis=0)
    return float(np.abs(dual.target * beta).sum() + size @ np.abs(gram.block()) @ size)


@settings(max_examples=40)
@given(
    st.sampled_from(MODELS),
    st.sampled_from(sorted(KERNELS)),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-2, 10.0, 1e4]),
)
def test_the_optimum_is_that_of_the_reference(model, kernel, seed, C):
    gram, dual = problem(model, kernel, seed, n=24, C=C)
    found = engine(gram, dual)
    found.solve()
    beta, _ = crossed_over(dual, found.best, found.factor)
    reference = in_reference_terms(dual)
    K = gram.block()
    gap = kkt.gap(K, reference, beta)
    assert gap <= TOL.objective_rel * size_of_terms(gram, dual, beta)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", EVERY)
def test_the_gap_closes(model, kernel):
    gram, dual = problem(model, kernel, 3)
    found = engine(gram, dual)
    found.solve()
    last = found.trace[-1]
    beta, _ = crossed_over(dual, found.best, found.factor)
    size = size_of_terms(gram, dual, beta)
    assert min(record.gap for record in found.trace) <= TOL.objective_rel * size
    assert min(record.violation for record in found.trace) <= TOL.decision
    apart = objective(gram, dual, beta) - last.dual_objective
    assert abs(apart) <= TOL.objective_rel * size


def test_the_objective_is_that_of_the_quadratic_programme(rng):
    gram, dual = problem("c_svc", "poly", 4)
    found = engine(gram, dual)
    found.solve()
    sign = np.where(dual.upper[0] > 0, 1.0, -1.0)
    box = dual.upper[0] - dual.lower[0]
    qp = build("c_svc", gram.block(), sign, C=1.0, epsilon=0.1, nu=0.5, weight=box)
    best = -solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper).objective
    assert found.trace[-1].dual_objective == pytest.approx(best, rel=TOL.objective_rel)


def test_fixed_variables_stay(rng):
    gram, dual = problem("eps_svr", "linear", 5)
    dual = fixed(dual, [1, 2, 3])
    found = engine(gram, dual)
    found.solve()
    assert not found.best.beta[:, [1, 2, 3]].any()
    assert found.trace[-1].gap <= TOL.objective_rel * abs(found.trace[-1].dual_objective)


def test_nothing_to_choose_ends_at_once():
    gram, dual = problem("c_svc", "linear", 5)
    found = engine(gram, replace(dual, lower=dual.upper * 0, upper=dual.upper * 0))
    found.solve()
    assert len(found.trace) == 1
    assert not found.best.beta.any()


def test_records_are_observed_in_order():
    gram, dual = problem("nu_svr", "rbf", 6)
    seen = []
    found = engine(gram, dual, seen.append)
    found.solve()
    assert seen == list(found.trace)
    assert [record.round for record in seen] == list(range(1, len(seen) + 1))
    assert all("interior" in record.timings for record in seen)


def test_a_limit_leaves_a_feasible_point():
    gram, dual = problem("c_svc", "linear", 7)
    budget = Budget()
    found = engine(gram, dual, budget=budget)

    def stop(record):
        budget.max_time = 0.0 if record.round == 3 else None

    found.observe = stop
    with pytest.raises(OutOfBudget):
        found.solve()
    beta, _ = crossed_over(dual, found.best)
    assert kkt.feasibility(in_reference_terms(dual), beta) <= TOL.feasibility
