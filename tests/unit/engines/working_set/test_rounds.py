"""The working-set engine: rows come and go, the optimum stays the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from conftest import TOL
from reference import kkt
from reference.duals import MODELS, in_beta_space
from reference.qp import solve_qp
from support.fitting import (
    Solved,
    as_exact_as_float64,
    beta_of,
    build_dual,
    cut_short,
    fitted,
    in_reference_terms,
    limited_by_float64,
    solve_dual,
)
from support.problems import (
    generate,
    kernel_matrix,
    reference_optimum,
    reference_qp,
    toy_model,
    toy_svc,
    toy_svr,
)
from widestreet._src.engines import budget
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.engines.working_set import state_of_rounds
from widestreet._src.engines.working_set.tile import WorkingSet
from widestreet._src.kernels import kernels
from widestreet._src.problems.dual import Dual
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.shards.survey_order import SurveyOrder
from widestreet._src.status import Status
from widestreet.datasets import checkerboard, friedman, twonorm
from widestreet.strategies import SMO, Auto, Proposal, Situation, Stateless, Strategy

pytestmark = pytest.mark.numeric

SMALL = Auto(start_size=128, max_size=512)
STRATEGIES = {
    "auto": Auto(),
    "auto, small sets": SMALL,
    "smo": SMO(),
    "smo, small sets": SMO(size=400),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A problem large enough for several rounds."""

    X: np.ndarray
    dual: Dual
    gamma: float

    def solve(self, strategy: Strategy, tol: float = 1e-4, **options) -> Solved:
        return solve_dual(self.X, self.dual, strategy, gamma=self.gamma, tol=tol, **options)


def _cases() -> dict[str, Case]:
    X, y = checkerboard(5000, random_state=0)
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.02, -y, y)
    many, two = twonorm(5000, random_state=0, dtype=np.float32)
    features, target = friedman(2200, random_state=0)
    return {
        "checkerboard": Case(X, build_dual("c_svc", np.float64(y), C=100.0), 2.0),
        "noisy checkerboard": Case(X, build_dual("c_svc", np.float64(noisy), C=10.0), 2.0),
        "twonorm float32": Case(many, build_dual("c_svc", np.float64(two), C=1.0), 0.05),
        "friedman": Case(features, build_dual("eps_svr", target, C=3.0, epsilon=1.0), 0.5),
    }


CASES = _cases()
EASY = "checkerboard"  # the quickest of them


@cache
def best(name: str) -> float:
    """The dual objective of a case, solved tightly and certified."""
    found = CASES[name].solve(Auto(), 1e-6).found
    assert found.violation <= 1e-6
    return found.dual


# -- the optimum -------------------------------------------------------------------------------


@pytest.mark.parametrize("capacity", [1 << 20, 300])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", CASES)
def test_every_strategy_reaches_the_same_optimum(name, strategy, capacity):
    solution, found, _ = CASES[name].solve(STRATEGIES[strategy], capacity=capacity)
    assert solution.status == "optimal"
    assert found.violation <= 1e-4
    assert found.infeasibility <= TOL.feasibility
    assert found.dual == pytest.approx(best(name), rel=TOL.strategies_rel)
    assert found.primal - found.dual <= TOL.certified_gap_rel * found.dual
    check_trace(solution.trace, CASES[name], capacity)
    assert solution.trace[-1].dual_objective == pytest.approx(found.dual, rel=TOL.trace_rel)


def check_trace(trace, case, capacity):
    """Records count up, and the dual objective never falls."""
    rows = case.dual.rows
    assert [record.round for record in trace] == list(range(1, len(trace) + 1))
    for record in trace:
        assert 0 < record.working_set <= min(capacity, rows)
        assert 0 < record.n_sv <= rows
        assert 0 <= record.n_free <= record.working_set * case.dual.layers
        assert 0 <= record.rows_scanned + record.rows_skipped <= rows
        assert record.violation >= 0
        if record.working_set + record.rows_scanned == rows:  # otherwise the gap is a guess
            assert record.gap >= -TOL.trace_rel * record.dual_objective
        assert all(seconds >= 0 for seconds in record.timings.values())
        assert {"exchange", "solve", "survey"} <= set(record.timings)
    for one, other in pairwise(trace):
        assert other.dual_objective >= one.dual_objective * (1 - TOL.monotone)
        assert other.kernel_values >= one.kernel_values
        assert other.pair_steps >= one.pair_steps
        assert other.seconds >= one.seconds
    assert trace[-1].violation <= 1e-4


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("strategy", [Auto(start_size=12, max_size=20), SMO(size=16), Auto()])
def test_all_five_duals_against_the_quadratic_programme(model, strategy, rng):
    """Working sets smaller than the number of support vectors, weights and empty boxes."""
    for weight in (None, rng.choice([0.0, 0.5, 1.0, 2.0], 60)):
        problem, K, qp = toy_model(model, 60, weight=weight)
        dual = build_dual(model, np.float64(problem.y), C=3.0, weight=weight)
        reference = in_reference_terms(dual)
        solved = solve_dual(problem.X, dual, strategy, gamma=0.5, tol=TOL.violation)
        beta = solved.solution.beta
        assert solved.solution.status == "optimal"
        assert kkt.feasibility(reference, beta) <= TOL.feasibility
        assert kkt.kkt_violation(K, reference, beta) <= TOL.violation
        optimum = -solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper).objective
        value = kkt.dual_objective(K, reference, beta)
        assert value == pytest.approx(optimum, rel=TOL.objective_rel)


@limited_by_float64
@pytest.mark.parametrize("problem", generate()[1::4], ids=lambda problem: problem.name)
def test_working_sets_of_a_few_rows(problem):
    """Most support vectors are outside at any time, often all of them at a bound."""
    strategy = Auto(start_size=8, max_size=16)
    model = fitted(problem, strategy=strategy, tol=TOL.violation)
    assert as_exact_as_float64(model.certificate_)
    dual = in_beta_space(reference_qp(problem))
    assert kkt.kkt_violation(kernel_matrix(problem), dual, beta_of(model)) <= TOL.violation
    if problem.convex:
        value = kkt.dual_objective(kernel_matrix(problem), dual, beta_of(model))
        optimum = -reference_optimum(problem).objective
        assert value == pytest.approx(optimum, rel=TOL.objective_rel)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", ["nu_svc", "nu_svr", "one_class"])
def test_duals_that_do_not_start_at_zero(model, strategy):
    """Their first point fills boxes in order of the rows, outside the working set too."""
    problem = toy_svr(2100, 3) if model == "nu_svr" else toy_svc(2100, 5)
    dual = build_dual(model, np.float64(problem.y), C=3.0, nu=0.3)
    solution, found, _ = solve_dual(problem.X, dual, STRATEGIES[strategy], tol=1e-4)
    assert solution.status == "optimal"
    assert found.violation <= 1e-4
    assert found.infeasibility <= TOL.feasibility
    assert found.primal - found.dual <= TOL.certified_gap_rel * abs(found.dual)


# -- rows come and go --------------------------------------------------------------------------


def test_rows_leave_and_come_back(monkeypatch):
    """Otherwise the tests above would not show that coefficients survive outside the set."""
    taken: list[int] = []
    left: set[int] = set()
    held: list[int] = []
    take, publish = ShardSet.take, ShardSet.publish

    def watched_take(self, ids):
        assert not set(ids) & set(self.news.members) - left  # nobody enters twice
        found = take(self, ids)
        held.extend(ids[found.beta.any(axis=0)])
        taken.extend(ids)
        return found

    def watched_publish(self, expansion, point, members, released):
        left.update(released.ids)
        publish(self, expansion, point, members, released)

    monkeypatch.setattr(ShardSet, "take", watched_take)
    monkeypatch.setattr(ShardSet, "publish", watched_publish)
    CASES["friedman"].solve(Auto(start_size=64), capacity=200)
    assert left
    assert len(taken) > len(set(taken))
    assert held  # support vectors among those that came back


def test_the_model_holds_support_vectors_outside_the_working_set():
    solution, _, engine = CASES["friedman"].solve(SMALL, capacity=200)
    support = int(solution.beta.any(axis=0).sum())
    assert support > 200 >= engine.state.work.size
    assert len(engine.state.expansion.ids) == solution.trace[-1].n_sv == support


def test_skipping_rows_changes_the_work_and_not_the_result():
    case = CASES["noisy checkerboard"]
    lazy = case.solve(SMALL)
    busy = case.solve(_NoSkip(SMALL))
    assert sum(record.rows_skipped for record in lazy.solution.trace) > 0
    assert sum(record.rows_skipped for record in busy.solution.trace) == 0
    assert lazy.found.dual == pytest.approx(busy.found.dual, rel=TOL.strategies_rel)


@dataclass(frozen=True)
class _NoSkip(Stateless):
    """Another strategy, with surveys that look at every row they come across."""

    inner: Strategy

    def start(self, rows: int, capacity: int) -> int:
        return self.inner.start(rows, capacity)

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        plan = self.inner.propose(situation, rng)
        return replace(plan, survey=replace(plan.survey, skip=False))

    def finished(self, situation: Situation) -> bool:
        return self.inner.finished(situation)


# -- determinism and counting ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["checkerboard", "friedman"])
@pytest.mark.parametrize("threads", [1, 2])
def test_same_seed_same_result(name, threads):
    one, other = (CASES[name].solve(SMALL, seed=3, threads=threads) for _ in range(2))
    assert np.array_equal(one.solution.beta, other.solution.beta)
    assert one.solution.kernel_values == other.solution.kernel_values
    assert [r.dual_objective for r in one.solution.trace] == [
        r.dual_objective for r in other.solution.trace
    ]


def test_seed_and_threads_do_not_change_the_optimum():
    for seed, threads in ((1, 1), (2, 2), (3, 2)):
        found = CASES[EASY].solve(SMALL, seed=seed, threads=threads).found
        assert found.dual == pytest.approx(best(EASY), rel=TOL.strategies_rel)


def test_kernel_values_are_counted():
    """Against a Python kernel that counts them itself."""
    problem, counted = toy_svc(300), 0

    def kernel(A, B):
        nonlocal counted
        counted += len(A) * len(B)
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    model = ws.SVC(kernel=kernel, strategy=Auto(start_size=32, max_size=128), n_jobs=1)
    model.fit(problem.X, problem.y)
    assert model.n_kernel_values_ == counted
    assert 0 < model.trace_[-1].kernel_values < counted  # the certificate's come on top
    assert model.trace_[-1].pair_steps == np.max(model.n_iter_)


def test_trace_as_a_frame():
    problem = toy_svc(200)
    model = ws.SVC(n_jobs=1).fit(problem.X, problem.y)
    frame = model.trace_.to_frame()
    assert len(frame) == len(model.trace_)
    assert frame["violation"].iloc[-1] <= model.tol
    assert {"round", "working_set", "dual_objective", "gap", "seconds_solve"} <= set(frame)


# -- precision ---------------------------------------------------------------------------------


def test_precision_rises_where_float32_cannot_do_it():
    X, y = checkerboard(3000, random_state=0, dtype=np.float32)
    y = np.where(np.random.default_rng(1).random(len(y)) < 0.02, -y, y)
    dual = build_dual("c_svc", np.float64(y), C=1e4)
    hard = solve_dual(X, dual, SMALL, gamma=2.0, tol=1e-5)
    assert hard.engine.state.work.double
    assert hard.engine.state.work.tile.dtype == np.float64
    assert hard.found.violation <= 1e-5
    easy = solve_dual(X, build_dual("c_svc", np.float64(y), C=1.0), SMALL, gamma=2.0, tol=1e-2)
    assert not easy.engine.state.work.double
    assert easy.found.violation <= 1e-2


def test_a_change_of_the_tile_that_the_clock_ends(monkeypatch):
    """All rows leave the working set then. The certificate follows, and no further round."""
    compute, ended = WorkingSet._compute, []

    def late(self, slots, size):
        if self.tile.dtype == np.float64 and not ended:
            ended.append(size)
            raise OutOfBudget(Status.TIME_LIMIT)
        compute(self, slots, size)

    monkeypatch.setattr(WorkingSet, "_compute", late)
    X, y = checkerboard(3000, random_state=0, dtype=np.float32)
    y = np.where(np.random.default_rng(1).random(len(y)) < 0.02, -y, y)
    model = ws.SVC(C=1e4, gamma=2.0, tol=1e-5, strategy=SMALL, max_time=600.0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        found = model.fit(X, y).certificate_
    assert ended
    assert found.status == Status.TIME_LIMIT
    assert np.isfinite(found.gap)


# -- kernels that are not positive semidefinite ------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", ["c_svc", "eps_svr"])
def test_an_indefinite_kernel_ends_and_is_judged_honestly(model, strategy):
    """There may be no optimum to find, only stationary points; the violation is what it is."""
    problem = toy_svc(2500, 3) if model == "c_svc" else toy_svr(2500, 3)
    dual = build_dual(model, np.float64(problem.y), C=10.0)
    kernel = kernels.Sigmoid(gamma=0.5, coef0=-1.0)
    solved = solve_dual(problem.X, dual, STRATEGIES[strategy], kernel=kernel, tol=1e-3)
    assert solved.solution.status in ("optimal", "stalled")
    if solved.solution.status == "optimal":
        assert solved.found.violation <= 1e-3
    assert solved.found.infeasibility <= TOL.feasibility
    assert sum(record.rows_skipped for record in solved.solution.trace) == 0


# -- the contract of a strategy ----------------------------------------------------------------


@dataclass(frozen=True)
class WorstFirst(Stateless):
    """The shortest useful strategy: never drop, always add the worst violators."""

    step: int = 100

    def start(self, rows: int, capacity: int) -> int:
        return min(self.step, rows, capacity)

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        drop = np.zeros(len(situation.slack), dtype=bool)
        room = situation.capacity - len(drop)
        worst = np.argsort(-situation.excess)[: min(self.step, room)]
        order = SurveyOrder(situation.rows, 0.1 * situation.tol, whole=True)
        return Proposal(drop, situation.violators[worst], 0.1 * situation.tol, order)

    def finished(self, situation: Situation) -> bool:
        return situation.complete and situation.violation <= situation.tol


@dataclass(frozen=True)
class Idle(Stateless):
    """Does one round of nearly nothing and says that all is done."""

    def start(self, rows: int, capacity: int) -> int:
        return min(10, rows)

    def propose(self, situation: Situation, rng: np.random.Generator) -> Proposal:
        drop = np.zeros(len(situation.slack), dtype=bool)
        add = situation.violators[:1] if situation.round else situation.violators
        return Proposal(drop, add, 10.0, SurveyOrder(100, 1.0, whole=True))

    def finished(self, situation: Situation) -> bool:
        return True


def test_a_strategy_of_ones_own():
    solution, found, _ = CASES[EASY].solve(WorstFirst())
    assert solution.status == "optimal"
    assert found.dual == pytest.approx(best(EASY), rel=TOL.strategies_rel)


@pytest.mark.parametrize("strategy", [WorstFirst(), WorstFirst(step=7), SMALL, SMO(size=50)])
def test_estimators_take_strategies_as_objects(strategy):
    problem = toy_svc(400, C=10.0)
    model = ws.SVC(C=10.0, gamma=0.5, strategy=strategy, n_jobs=1).fit(problem.X, problem.y)
    assert model.certificate_.status == "optimal"
    assert model.get_params()["strategy"] is strategy


def test_a_strategy_cannot_declare_a_bad_point_optimal():
    problem = toy_svr(400, C=10.0)
    with cut_short():
        model = ws.SVR(C=10.0, gamma=0.5, strategy=Idle(), n_jobs=1)
        model.fit(problem.X, problem.y)
    certificate = model.certificate_
    assert (certificate.status == "optimal") == (certificate.kkt_violation <= model.tol)


def test_situations_say_what_they_promise():
    """Shapes and meaning of everything a strategy sees, round by round."""
    seen: list[Situation] = []

    class Watching(Auto):
        def propose(self, situation, rng):
            seen.append(situation)
            return super().propose(situation, rng)

    CASES[EASY].solve(Watching(start_size=128, max_size=512), capacity=300)
    assert seen[0].violation > 0
    assert len(seen[0].violators) == 128
    for count, situation in enumerate(seen):
        size = len(situation.slack)
        assert situation.round == count
        assert situation.rows == 5000
        assert situation.capacity == 300 >= size
        assert situation.support.shape == situation.free.shape == (size,)
        assert not (situation.free & ~situation.support).any()
        assert len(situation.violators) == len(situation.excess)
        assert len(np.unique(situation.violators)) == len(situation.violators)
        if count:
            assert (situation.excess > 0).all()
            assert (situation.slack[situation.free] <= 0).all()  # both directions are open


# -- bold surveys ------------------------------------------------------------------------------


def cautions(monkeypatch) -> list[float]:
    """What every survey takes for the part that scores have moved by."""
    seen: list[float] = []
    survey = ShardSet.survey

    def watched(self, order, rng):
        seen.append(order.caution)
        return survey(self, order, rng)

    monkeypatch.setattr(ShardSet, "survey", watched)
    return seen


def test_surveys_are_bold_until_a_check_fails(monkeypatch):
    seen = cautions(monkeypatch)
    solution, found, _ = CASES["twonorm float32"].solve(SMALL, tol=1e-3)
    assert solution.status == "optimal"
    assert found.violation <= 1e-3
    assert seen[0] < 1
    assert seen == sorted(seen)


@pytest.mark.parametrize("name", CASES)
def test_a_survey_that_sees_nothing_is_found_out(name, monkeypatch):
    """Rows once evaluated never come back until a check fails, and safely from then on."""
    monkeypatch.setattr(state_of_rounds, "_DRIFT_BEFORE_CHECKS", 0.0)
    seen = cautions(monkeypatch)
    solution, found, _ = CASES[name].solve(SMALL)
    assert solution.status == "optimal"
    assert found.violation <= 1e-4
    assert found.dual == pytest.approx(best(name), rel=TOL.certified_gap_rel)
    assert seen[-1] == 1


@pytest.mark.parametrize("bold", [0.0, 0.1])
@pytest.mark.parametrize("name", CASES)
def test_without_a_check_the_last_survey_is_safe(name, bold, monkeypatch):
    monkeypatch.setattr(state_of_rounds, "_DRIFT_BEFORE_CHECKS", bold)
    seen = cautions(monkeypatch)
    solution, found, _ = CASES[name].solve(SMALL, tol=1e-3, checked=False)
    assert solution.status == "optimal"
    assert found.violation <= 1.5e-3  # what the surveys see is float32
    assert seen[-1] == 1


# -- given starting points ----------------------------------------------------------------------


def started(X, y, C, base, monkeypatch, values):
    """Fit from another model; a start with so many rows times support vectors is examined."""
    monkeypatch.setattr(state_of_rounds, "_VALUES_OF_FIRST_CHECK", values)
    return ws.SVC(C=C, gamma=2.0, strategy=SMALL, random_state=0).fit(X, y, start=base)


@pytest.mark.parametrize("C", [100.0, 101.0, 1000.0])
def test_a_start_is_examined_before_the_first_survey(C, monkeypatch):
    X, y = checkerboard(5000, random_state=0)
    base = ws.SVC(C=100.0, gamma=2.0, random_state=0).fit(X, y)
    one, other = (started(X, y, C, base, monkeypatch, values) for values in (0, 1 << 60))
    assert "check" in one.trace_[0].timings
    assert "check" not in other.trace_[0].timings or len(other.trace_) == 1
    assert one.certificate_.status == other.certificate_.status == "optimal"
    assert one.certificate_.dual_objective <= other.certificate_.primal_objective
    assert other.certificate_.dual_objective <= one.certificate_.primal_objective
    if C == 100.0:
        assert one.trace_[-1].pair_steps < 0.5 * base.trace_[-1].pair_steps


def test_a_start_is_not_examined_without_time(monkeypatch):
    X, y = checkerboard(5000, random_state=0)
    base = ws.SVC(C=100.0, gamma=2.0, random_state=0).fit(X, y)
    monkeypatch.setattr(budget.Budget, "keep_back", lambda self, *given, **options: None)
    monkeypatch.setattr(state_of_rounds, "_VALUES_OF_FIRST_CHECK", 0)
    model = ws.SVC(C=1000.0, gamma=2.0, strategy=SMALL, random_state=0, max_time=1e6)
    model.fit(X, y, start=base)
    assert "check" not in model.trace_[0].timings
    assert model.certificate_.status == "optimal"
