"""PRSVM and RSVM as published, round by round against their literal version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import widestreet as ws
from conftest import TOL
from reference import prsvm, restricted
from support.fitting import checker, coefficients, solve_dual
from support.sampled_problems import EPSILON, KERNELS, MODELS, SLIGHT, TIGHT, C, Case, case, easy
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.sampling.prsvm_rounds import SamplingEngine
from widestreet._src.engines.solution import Solution, TraceRecord
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import select
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.shards.runner import LocalRunner
from widestreet._src.shards.shard_set import ShardSet
from widestreet.strategies import PRSVM, RSVM, SMO, WeightedSampling

pytestmark = pytest.mark.numeric


@dataclass(frozen=True, eq=False)
class Seen:
    """One iteration of the engine: the samples it solved, its record, and the levels after it."""

    samples: list[list[int]]
    record: TraceRecord
    level: np.ndarray


def watch(
    problem: Case, plan: WeightedSampling, seed: int, level: np.ndarray | None = None
) -> tuple[list[Seen], Solution]:
    """Run the engine of the sites, and look on; rows may have been doubled before."""
    gram = Gram(problem.kernel, as_rows(problem.X, centred=problem.kernel.translation_invariant))
    samples: list[list[int]] = []
    seen: list[Seen] = []

    def solve(sample):
        assert sample.start is None  # as published, from zero
        rows = sample.rows
        samples.append(rows.tolist())
        part = select(problem.dual, rows)
        kernel = problem.kernel
        found = solve_dual(problem.X[rows], part, SMO(), kernel=kernel, tol=TIGHT, checked=False)
        return found.solution

    def observe(record):
        seen.append(
            Seen(samples.copy(), record, engine.multiset.level(np.arange(engine.shards.rows)))
        )
        samples.clear()

    engine = SamplingEngine(
        ShardSet.of(gram, problem.dual),
        plan,
        solve,
        goal=Goal(TIGHT),
        check=checker(gram, problem.dual, TIGHT),
        budget=Budget(),
        observer=observe,
        rng=np.random.default_rng(seed),
        runner=LocalRunner(1),
    )
    if level is not None:
        engine.multiset.double(np.arange(len(level)), level.astype(float))
    return seen, engine.solve()


def literal(problem: Case, plan: WeightedSampling, seed: int) -> list[prsvm.Round]:
    return prsvm.prsvm(
        problem.K,
        problem.reference,
        np.random.default_rng(seed),
        SLIGHT,
        sites=plan.sites,
        r=plan.size,
        delta=plan.dimension,
        max_rounds=plan.max_rounds,
    )


def assert_same_rounds(problem: Case, plan: WeightedSampling, seed: int) -> list[prsvm.Round]:
    expected = literal(problem, plan, seed)
    seen, solution = watch(problem, plan, seed)
    for one, other in zip(seen, expected, strict=True):
        assert one.samples == [site.rows.tolist() for site in other.sites]
        assert np.array_equal(one.level, other.level)
        assert one.record.notes == notes(other)
        assert one.record.working_set == len(other.sites[other.best].rows)
        assert one.record.violators == len(other.sites[other.best].V)
    best = expected[-1].sites[expected[-1].best]
    difference = problem.K @ (solution.beta - best.point.beta).sum(axis=0)
    assert np.abs(difference).max() <= TOL.decision
    assert np.abs(solution.bias - best.point.bias).max() <= TOL.decision
    assert solution.status == ("approximate" if len(best.V) else "optimal")
    return expected


def notes(found: prsvm.Round) -> dict[str, Any]:
    """What the trace should say of a round."""
    return {
        "site": found.best,
        "site_violators": [len(site.V) for site in found.sites],
        "site_n_sv": [len(site.point.support) for site in found.sites],
        "log2_weight": pytest.approx(np.log2(found.weight), rel=TOL.exact),
        "doubled": sum(site.success for site in found.sites),
        "levels": np.bincount(found.level).tolist(),
    }


# -- round by round ----------------------------------------------------------------------------


@pytest.mark.usefixtures("chosen_data")
@pytest.mark.parametrize("sites", [1, 2, 4])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", MODELS)
def test_every_round_is_the_one_of_the_paper(model, kernel, sites):
    """With so small a dimension violators are doubled nearly always, and copies soon meet."""
    plan = PRSVM(sites, 45, 1.0, max_rounds=5, until_certified=False)
    rounds = assert_same_rounds(case.__wrapped__(model, kernel), plan, 0)
    assert rounds[-1].level.max() > 1
    assert max(found.copies.max() for found in rounds) > 1


@pytest.mark.parametrize("sites", [1, 2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_it_ends_at_the_optimum(model, sites):
    plan = PRSVM(sites, combinatorial_dimension=2.0, max_rounds=100, until_certified=False)
    rounds = assert_same_rounds(easy(model), plan, 0)
    assert min(len(site.V) for site in rounds[-1].sites) == 0


@pytest.mark.parametrize("model", MODELS)
def test_every_round_where_all_support_vectors_are_at_a_bound(model):
    plan = PRSVM(2, 45, 1.0, max_rounds=5, until_certified=False)
    assert_same_rounds(case(model, penalty=0.01), plan, 0)


@pytest.mark.parametrize("model", MODELS)
def test_heavy_violators_are_not_doubled(model):
    """Sites of either kind in one round: some are light enough and some are not."""
    plan = PRSVM(4, 25, 2.5, max_rounds=20, until_certified=False)
    rounds = assert_same_rounds(case(model), plan, 0)
    successes = [sum(site.success for site in found.sites) for found in rounds]
    assert set(successes) - {0, 4}


@pytest.mark.parametrize("sites", [3, 8, 50])
def test_sites_share_what_there_is(sites):
    """More elements are asked for than there are: the last site gets the rest, others nothing."""
    plan = PRSVM(sites, 30, 1.0, max_rounds=3, until_certified=False)
    rounds = assert_same_rounds(case("c_svc"), plan, 0)
    assert len(rounds[0].sites) == 3


def test_a_sample_of_everything_is_the_solution():
    rounds = assert_same_rounds(case("eps_svr"), RSVM(80, until_certified=False), 0)
    assert len(rounds) == 1


@pytest.mark.parametrize("model", MODELS)
def test_rsvm_is_prsvm_on_one_site(model):
    one, other = (
        watch(case(model), strategy(sample_size=25, max_rounds=6, until_certified=False), 3)
        for strategy in (RSVM, lambda **options: PRSVM(1, **options))
    )
    assert [s.record.notes for s in one[0]] == [s.record.notes for s in other[0]]
    assert np.array_equal(one[1].beta, other[1].beta)


@pytest.mark.parametrize("sites", [1, 3])
@pytest.mark.parametrize("model", MODELS)
def test_estimators_walk_the_same_way(model, sites):
    """Through the estimator, with its own way to solve samples."""
    problem = case(model)
    plan = PRSVM(sites, 45, 1.0, max_rounds=6, until_certified=False)
    options = {"C": C, "gamma": 0.5, "tol": TIGHT, "strategy": plan, "random_state": 5}
    make = ws.SVC if model == "c_svc" else ws.SVR
    if model == "eps_svr":
        options["epsilon"] = EPSILON
    y = problem.dual.target.mean(axis=0)
    fitted = make(n_jobs=1, **options).fit(problem.X, y)
    rounds = literal(problem, plan, 5)
    assert [record.notes for record in fitted.trace_] == [notes(found) for found in rounds]
    best = rounds[-1].sites[rounds[-1].best].point
    difference = problem.K @ (coefficients(fitted) - best.beta.sum(axis=0))
    assert np.abs(difference).max() <= TOL.decision
    assert fitted.certificate_.status == "approximate"
    parallel = make(n_jobs=2, **options).fit(problem.X, y)
    assert [record.notes for record in parallel.trace_] == [r.notes for r in fitted.trace_]


@pytest.mark.parametrize("height", [40, 46, 2000])
@pytest.mark.parametrize("model", MODELS)
def test_weights_may_be_of_any_size(model, height, rng):
    """Samples and doublings against whole numbers as large as they come, which Python has.

    Copies that a site of higher priority holds are left out here: they are few in so many.
    """
    problem = case(model)
    level = rng.integers(0, 5, len(problem.K)) + height
    plan = PRSVM(3, 35, 1.0, max_rounds=5, until_certified=False)
    successes = 0
    for one in watch(problem, plan, 0, level)[0]:
        u, before = [2 ** int(x) for x in level], level.copy()
        for X in one.samples:
            theta = restricted.solve(problem.K, problem.reference, X)
            V = restricted.violators(problem.K, problem.reference, theta, SLIGHT, X)
            light = 3 * sum(u[x] for x in V) <= sum(u)
            level[V] += light
            successes += light
        assert np.array_equal(one.level, level)
        assert one.record.notes["log2_weight"] == pytest.approx(
            before.min() + np.log2(sum(u) / 2 ** int(before.min())), rel=TOL.exact
        )
    assert 0 < successes < 15


# -- parameters --------------------------------------------------------------------------------


def test_size_and_dimension_follow_from_each_other():
    assert RSVM(combinatorial_dimension=3).size == 54
    assert RSVM(combinatorial_dimension=2.5).size == 38
    assert RSVM(sample_size=54).dimension == 3.0
    assert RSVM(sample_size=60_000).dimension == 100.0
    assert PRSVM().size == 2048
    both = PRSVM(sample_size=7, combinatorial_dimension=5.0)
    assert (both.size, both.dimension) == (7, 5.0)
