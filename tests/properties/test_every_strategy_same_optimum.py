"""Every strategy that samples rows: the same optimum, under the same rules, on every problem."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import OF_THREE, TOL
from reference import kkt
from reference.duals import MODELS, in_beta_space
from reference.qp import solve_qp
from support.fitting import (
    as_exact_as_float64,
    beta_of,
    build_dual,
    decision,
    fitted,
    in_reference_terms,
    limited_by_float64,
)
from support.machines import assert_same_function, assert_same_objective, data, machine
from support.problems import Problem, generate, kernel_matrix, reference_qp, toy_model
from support.small_strategies import SMALL, every_small_one
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import as_rows
from widestreet._src.training.engine_sequence import train
from widestreet._src.training.problem import Problem as TrainingProblem
from widestreet.strategies import ISVM, PRSVM, RSVM, RandSVM

pytestmark = pytest.mark.numeric

NAMES = {"isvm": ISVM, "randsvm": RandSVM, "rsvm": RSVM, "prsvm": PRSVM}
STRATEGIES: dict[str, Any] = {name: name for name in NAMES} | SMALL | {"interior": "interior"}

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)


def forty() -> list[Problem]:
    """Of the generated problems that are convex, a quarter: every task, kernel and trait."""
    convex = [problem for problem in generate() if problem.convex]
    return [convex[4 * i + i % 4] for i in range(40)]


# -- the optimum -------------------------------------------------------------------------------


def test_the_forty_are_a_spread():
    names = np.array([problem.name.split()[1:4] for problem in forty()])
    everything = np.array([problem.name.split()[1:4] for problem in generate() if problem.convex])
    for column, all_of_them in zip(names.T, everything.T, strict=True):
        assert set(column) == set(all_of_them)


@cache
def optimum_of_smo(problem) -> float:
    return fitted(problem, strategy="smo", tol=TOL.violation).certificate_.dual_objective


@limited_by_float64
@every_small_one
@pytest.mark.parametrize("problem", forty(), ids=lambda problem: problem.name)
def test_every_strategy_ends_at_the_optimum_of_smo(problem, strategy):
    """With its defaults, a strategy takes all rows of such a problem at once."""
    best = optimum_of_smo(problem)
    K, dual = kernel_matrix(problem), in_beta_space(reference_qp(problem))
    model = fitted(problem, strategy=strategy, tol=TOL.violation)
    beta = beta_of(model)
    assert as_exact_as_float64(model.certificate_)
    assert model.certificate_.dual_objective == pytest.approx(best, rel=TOL.strategies_rel)
    floor = kkt.rounding_floor(K, beta)
    assert kkt.feasibility(dual, beta) <= TOL.feasibility
    room = floor * 2 * len(K) if model.certificate_.lost_in_rounding else floor
    assert kkt.kkt_violation(K, dual, beta) <= TOL.violation + room
    assert kkt.dual_objective(K, dual, beta) == pytest.approx(best, rel=TOL.strategies_rel)
    assert_rising(model.trace_, floor * np.abs(beta).sum())


def assert_rising(trace, rounding: float = 0.0) -> None:
    """The dual objective never falls, but for the rounding of its terms."""
    values = np.array([record.dual_objective for record in trace])
    assert (np.diff(values) >= -TOL.monotone * np.abs(values).max() - rounding).all()


def assert_identical(one, other) -> None:
    assert np.array_equal(one.support_, other.support_)
    for name in ("dual_coef_", "intercept_"):
        first, second = (np.asarray(_dense(getattr(model, name))) for model in (one, other))
        assert np.array_equal(first, second)
    for first, second in zip(one.trace_, other.trace_, strict=True):
        assert replace(first, seconds=0.0, timings={}) == replace(second, seconds=0.0, timings={})


def _dense(array):
    return array.toarray() if sparse.issparse(array) else array


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_all_five_duals_against_the_quadratic_programme(model, weighted, rng):
    """Nu and one-class machines too, which do not start at zero; some rows weigh nothing."""
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], 60) if weighted else None
    problem, K, qp = toy_model(model, 60, weight=weight)
    dual = build_dual(model, np.float64(problem.y), C=3.0, weight=weight)
    rows, terms = as_rows(problem.X, centred=True), in_reference_terms(dual)
    optimum = -solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper).objective
    for strategy in STRATEGIES.values():
        user = ws.SVC(strategy=strategy, tol=TOL.violation, n_jobs=1, random_state=0)
        trained = train(
            RBF(0.5), rows, TrainingProblem(dual), user._settings(), lambda record: None
        )
        beta = trained.solution.beta
        assert trained.certificate.status == "optimal", strategy
        assert kkt.feasibility(terms, beta) <= TOL.feasibility
        assert kkt.kkt_violation(K, terms, beta) <= TOL.violation
        assert kkt.dual_objective(K, terms, beta) == pytest.approx(optimum, rel=TOL.strategies_rel)
        if strategy != "interior":  # whose iterates are not feasible
            assert_rising(trained.solution.trace)


@cache
def by_smo(kind: str, n: int) -> Any:
    return machine(kind, strategy="smo").fit(*data(kind, n))


@every_strategy
def test_every_machine_and_every_name(kind, strategy):
    """Of three classes, pair by pair. The same random_state gives the same bits."""
    X, y = data(kind, 60)
    model = machine(kind, strategy=strategy).fit(X, y)
    smo = by_smo(kind, 60)
    assert model.certificate_.status == "optimal"
    assert_same_objective(model, smo)
    assert_same_function(model, smo, X)
    assert_identical(model, machine(kind, strategy=strategy).fit(X, y))


@every_small_one
@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_storage_does_not_change_the_function(kind, strategy):
    X, y = data(kind, 80)
    dense = machine(kind, strategy=strategy).fit(X, y)
    other = machine(kind, strategy=strategy).fit(sparse.csr_matrix(X), y)
    assert other.certificate_.status == "optimal"
    assert_same_function(dense, other, X, sparse.csr_matrix(X))


@every_small_one
@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_a_weight_of_two_is_a_row_twice(kind, strategy, rng):
    X, y = data(kind, 60)
    weight = rng.integers(0, 3, 60)
    weight[:2] = 1
    one = machine(kind, strategy=strategy).fit(X, y, sample_weight=weight)
    often = np.repeat(np.arange(60), weight)
    other = machine(kind, strategy=strategy).fit(X[often], y[often])
    assert one.certificate_.status == other.certificate_.status == "optimal"
    assert_same_function(one, other, X)


@every_small_one
def test_two_threads_give_the_same_function(kind, strategy):
    X, y = data(kind, 60)
    two = machine(kind, strategy=strategy, n_jobs=2).fit(X, y)
    assert two.certificate_.status == "optimal"
    assert_same_function(by_smo(kind, 60), two, X)


@every_small_one
def test_a_start_is_taken_up(kind, strategy):
    """A warm start at the optimum stays there."""
    X, y = data(kind, 60)
    model = machine(kind, strategy=strategy, warm_start=True).fit(X, y)
    before = decision(model, X)
    model.fit(X, y)
    assert model.certificate_.status == "optimal"
    assert np.abs(decision(model, X) - before).max() <= TOL.decision


# -- as published ------------------------------------------------------------------------------

PUBLISHED: dict[str, Any] = {
    "isvm": ISVM(sample_size=5, stage_one_size=8, scan_fraction=0.5, until_certified=False),
    "randsvm": RandSVM(sample_size=12, until_certified=False),
    "rsvm": RSVM(sample_size=12, max_rounds=3, until_certified=False),
    "prsvm": PRSVM(sites=3, sample_size=12, max_rounds=3, until_certified=False),
}


@pytest.mark.parametrize("strategy", PUBLISHED.values(), ids=PUBLISHED)
@pytest.mark.parametrize("kind", ["svc", "svr", "svc" + OF_THREE])
def test_an_approximation_is_called_so_and_certified(kind, strategy):
    """Without a warning: it is what was asked for. The certificate bounds how far it is off."""
    X, y = data(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = machine(kind, strategy=strategy).fit(X, y)
    assert model.certificate_.status == "approximate"
    assert model.certificate_.kkt_violation > model.tol
    smo = machine(kind, strategy="smo").fit(X, y)
    for rough, exact in zip(model.certificates_, smo.certificates_, strict=True):
        assert rough.dual_objective <= exact.dual_objective <= rough.primal_objective
    assert_identical(model, machine(kind, strategy=strategy).fit(X, y))


@pytest.mark.parametrize(
    "strategy",
    [RandSVM(until_certified=False), RSVM(until_certified=False)],
    ids=["randsvm", "rsvm"],
)
@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_a_published_fit_without_violators_is_optimal(kind, strategy):
    X, y = data(kind)
    model = machine(kind, strategy=strategy).fit(X, y)  # all rows are one sample
    assert model.certificate_.status == "optimal"
    assert_same_function(model, machine(kind, strategy="smo").fit(X, y), X)


@pytest.mark.parametrize("strategy", [RSVM, PRSVM])
@pytest.mark.parametrize("kind", ["nu_svc", "nu_svr", "one_class"])
def test_published_samples_of_nu_problems_are_refused(kind, strategy):
    X, y = data(kind)
    with pytest.raises(
        ValueError, match=rf"{strategy.__name__}.*nu.*leave until_certified at True"
    ):
        machine(kind, strategy=strategy(until_certified=False)).fit(X, y)


@pytest.mark.parametrize("k", [5, "paper"])
@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_randsvm_stops_at_k_even_when_it_may_improve(kind, k):
    strategy = RandSVM(k=k, epsilon=4.0, sample_size=20)
    model = machine(kind, strategy=strategy).fit(*data(kind))
    assert model.certificate_.status == "approximate"
    assert model.trace_[-1].n_sv >= strategy.bound(120)
    assert model.trace_[-1].notes["ended"] == "k"


# -- names and values ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_the_strategy_with_its_defaults(name):
    X, y = data("svc", 60)
    by_name, by_object = (machine("svc", strategy=s).fit(X, y) for s in (name, NAMES[name]()))
    assert_identical(by_name, by_object)


def test_a_search_has_no_memory_of_the_last_one():
    strategy = ISVM(sample_size=5)
    X, y = data("svc", 60)
    one, other = (machine("svc", strategy=strategy).fit(X, y) for _ in range(2))
    assert_identical(one, other)
