"""Training on blocks that are elsewhere gives the model of all rows in memory."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import TOL
from support.blocks import LocalBlocks, task
from support.settings import NoCallbacks, settings
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.selection.auto_doubling import Auto
from widestreet._src.kernels.kernels import RBF, Linear
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import CSVC, EpsilonSVR, NuSVC, NuSVR, OneClass
from widestreet._src.problems.goal import Goal
from widestreet._src.reporting.observers import Observers
from widestreet._src.status import Status
from widestreet._src.training import sharded
from widestreet._src.training.sharded import train_blocks
from widestreet.datasets import friedman, twonorm
from widestreet.strategies import PRSVM

pytestmark = pytest.mark.numeric

N, CUTS = 400, [3, 150, 150, 290]  # one block is empty
CASES = {
    "svc": (CSVC(1.0), ws.SVC(C=1.0)),
    "squared hinge": (CSVC(1.0, loss="squared"), ws.SVC(C=1.0, loss="squared_hinge")),
    "nu_svc": (NuSVC(0.3), ws.NuSVC(nu=0.3)),
    "svr": (EpsilonSVR(1.0, 0.5), ws.SVR(C=1.0, epsilon=0.5)),
    "squared svr": (
        EpsilonSVR(1.0, 0.5, loss="squared"),
        ws.SVR(C=1.0, epsilon=0.5, loss="squared_epsilon_insensitive"),
    ),
    "nu_svr": (NuSVR(1.0, 0.4), ws.NuSVR(C=1.0, nu=0.4)),
    "one class": (OneClass(0.3), ws.OneClassSVM(nu=0.3)),
}


def observers(problems: int = 1) -> Observers:
    return Observers(0, 1e-3, NoCallbacks(), [str(p) for p in range(problems)])


def trained(case: str, rng, *, weighted=False, form=np.asarray, port="forgetful", kernel=None):
    formulation, model = CASES[case]
    X, y = friedman(N, random_state=0) if "svr" in case else twonorm(N, random_state=0)
    X = form(X[:, :6])
    weight = rng.choice([0.0, 0.5, 2.0], N) if weighted else None
    kernel = kernel or RBF(0.05)
    classes = None if "svr" in case or case == "one class" else np.ones(2)
    target = np.searchsorted(np.unique(y), y) if classes is not None else np.float64(y)
    target = np.zeros(N) if case == "one class" else target
    job = task(
        kernel, formulation, X, target, weight=weight, class_weight=classes, cuts=CUTS, port=port
    )
    with observers() as watch:
        supports, found = train_blocks(job, settings(goal=Goal(1e-5)), watch)
    name = "linear" if isinstance(kernel, Linear) else "rbf"
    model.set_params(kernel=name, gamma=0.05, tol=1e-5, random_state=0)
    model.fit(X, y, weight)
    return supports, found, model


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_model_is_that_of_all_rows_in_memory(case, weighted, rng):
    supports, [found], model = trained(case, rng, weighted=weighted)
    mine, other = found.certificate, model.certificate_
    assert mine.status == other.status == "optimal"
    assert mine.n_rows == other.n_rows
    scale = abs(other.dual_objective)
    assert abs(mine.dual_objective - other.dual_objective) <= TOL.strategies_rel * scale
    assert abs(mine.primal_objective - other.primal_objective) <= 10 * TOL.strategies_rel * scale
    assert len(supports.origin) == len(found.solution.point)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", [RBF(0.05), Linear()])
def test_support_vectors_come_with_their_features(form, kernel, rng):
    supports, _, _ = trained("svc", rng, form=form, kernel=kernel)
    X = form(twonorm(N, random_state=0)[0][:, :6])
    difference = X[supports.origin] - supports.data
    assert np.abs(difference).max() == 0
    sign = np.where(supports.lines[0] > 0, 1, 0)
    assert np.array_equal(sign, supports.code)
    assert np.all(np.diff(supports.origin) > 0)


@pytest.mark.parametrize("port", ["local", "pickling", "forgetful"])
def test_several_classes(port, rng):
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 4, 300)
    X += 1.5 * np.eye(4)[y][:, :3]
    weight, factors = rng.choice([0.5, 1.0], 300), np.array([1.0, 2.0, 1.0, 0.5])
    job = task(
        RBF(0.3), CSVC(2.0), X, y, weight=weight, class_weight=factors, cuts=[100, 180], port=port
    )
    with observers(6) as watch:
        supports, found = train_blocks(job, settings(goal=Goal(1e-5)), watch)
    model = ws.SVC(
        C=2.0, gamma=0.3, tol=1e-5, class_weight=dict(enumerate(factors)), random_state=0
    ).fit(X, y, weight)
    for mine, other in zip(found, model.certificates_, strict=True):
        assert mine.certificate.status == "optimal"
        gap = abs(mine.certificate.dual_objective - other.dual_objective)
        assert gap <= TOL.strategies_rel * other.dual_objective
    assert np.array_equal(supports.code, y[supports.origin])
    dense = np.zeros((3, 300))
    dense[:, supports.origin] = supports.lines
    members = [np.flatnonzero(y == c) for c in range(4)]
    for coef, mine in zip(PairLayout(4).gather(dense, members), found, strict=True):
        assert np.count_nonzero(coef) == len(mine.solution.point)
        assert abs(coef.sum()) <= TOL.feasibility * np.abs(coef).sum()


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("formulation", [CSVC(1.0), NuSVC(0.3)])
def test_a_budget_that_is_spent_leaves_a_model(formulation, stopped, rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    job = task(RBF(0.3), formulation, X, y, class_weight=np.ones(3), cuts=[30])
    budget = Budget(None if stopped else 1e-9, stopped=stopped)
    with observers(3) as watch:
        supports, found = train_blocks(job, settings(goal=Goal(1e-3)), watch, budget)
    wanted = "interrupted" if stopped else "time_limit"
    assert [one.certificate.status for one in found] == [wanted] * 3
    assert supports.lines.shape[0] == 2


def test_rows_that_differ_when_they_are_made_again_are_an_error(rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    job = task(RBF(0.3), CSVC(1.0), X, y, class_weight=np.ones(2), cuts=[30])
    recipe = replace(job.recipe, weight=60.0, sizes=(30, 31))
    assert recipe.shard(job.blocks.blocks[0]).rows == 30
    with pytest.raises(RuntimeError, match=r"X changed while .* had 31 rows has 30 now"):
        recipe.shard(job.blocks.blocks[1])


class DeafPort:
    """Answers some questions, and none after them."""

    def __init__(self, port, answers, stop):
        self.port, self.left, self.stop = port, answers, stop

    def __getattr__(self, name):
        return getattr(self.port, name)

    def ask(self, question, each, poll):
        if self.left == 0:
            raise self.stop
        self.left -= 1
        return self.port.ask(question, each, poll)


@pytest.mark.parametrize("answers", range(12))
@pytest.mark.parametrize("case", ["svc", "nu_svc", "one class"])
@pytest.mark.parametrize("stop", [OutOfBudget(Status.TIME_LIMIT), KeyboardInterrupt()])
@pytest.mark.parametrize("strategy", [Auto(), PRSVM(sites=2, sample_size=40, max_rounds=1)])
def test_no_question_may_be_the_last_one(answers, case, stop, strategy, rng, monkeypatch):
    connect = LocalBlocks.connect
    monkeypatch.setattr(
        LocalBlocks, "connect", lambda self, recipe: DeafPort(connect(self, recipe), answers, stop)
    )
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    classes = None if case == "one class" else np.ones(2)
    job = task(RBF(0.3), CASES[case][0], X, y, class_weight=classes, cuts=[30])
    with observers() as watch:
        supports, [one] = train_blocks(job, settings(goal=Goal(1e-3), strategy=strategy), watch)
    wanted = "interrupted" if isinstance(stop, KeyboardInterrupt) else "time_limit"
    assert one.certificate.status == (wanted if one.certificate.n_rows == 0 else "optimal")
    assert one.certificate.n_rows == 0 or answers > 0
    assert len(supports.data) == len(supports.origin) == len(one.solution.point)


class PicklingRunner:
    """Solves samples after a journey as bytes."""

    def __init__(self):
        self.sizes = []

    def map(self, function, items, on_interrupt=None, interrupted=None):
        found = []
        for item in items:
            message = pickle.dumps((function, item))
            self.sizes.append(len(message))
            function, item = pickle.loads(message)
            found.append(pickle.loads(pickle.dumps(function(item))))
        return found


@pytest.mark.parametrize("until_certified", [True, False])
@pytest.mark.parametrize("case", ["svc", "svr"])
def test_samples_are_solved_elsewhere(until_certified, case):
    X, y = friedman(N, random_state=0) if case == "svr" else twonorm(N, random_state=0)
    target = np.float64(y) if case == "svr" else np.int64(y > 0)
    classes = None if case == "svr" else np.ones(2)
    formulation, model = CASES[case]
    job = task(RBF(0.05), formulation, X, target, class_weight=classes, cuts=CUTS)
    runner = PicklingRunner()
    plan = PRSVM(2, 60, 20.0, max_rounds=4, until_certified=until_certified)
    goal = settings(strategy=plan, goal=Goal(1e-3))
    with observers() as watch:
        _, [found] = train_blocks(replace(job, runner=runner), goal, watch)
    assert len(runner.sizes) >= 2
    assert runner.sizes[0] < X.nbytes / 2  # a sample travels, not all rows
    mine = found.certificate
    model.set_params(kernel="rbf", gamma=0.05, tol=1e-3, random_state=0).fit(X, y)
    if until_certified:
        assert mine.status == "optimal"
        best = model.certificate_.primal_objective
        assert mine.dual_objective <= best + TOL.strategies_rel * best
    else:
        assert mine.status in ("optimal", "approximate")
        assert mine.gap < np.inf
    assert found.solution.trace[0].notes["site_violators"]


def test_time_that_easy_pairs_leave_over_goes_to_hard_ones(rng, monkeypatch):
    """The first pair ends by its time limit; later it continues from its point to the optimum."""
    train, starts = sharded._train, []

    def limited(task, settings, budget, observe, rng, number, start=None):
        starts.append((number, start, budget.max_time))
        first = len(starts) == 1
        one = train(task, settings, Budget(max_steps=40 if first else -1), observe, rng, number)
        if first:
            certificate = replace(one.trained.certificate, status=Status.TIME_LIMIT)
            one = replace(one, trained=replace(one.trained, certificate=certificate))
        return one

    monkeypatch.setattr(sharded, "_train", limited)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    job = task(RBF(0.3), CSVC(1.0), X, y, class_weight=np.ones(3), cuts=[100])
    with observers(3) as watch:
        _, found = train_blocks(job, settings(goal=Goal(1e-3), max_time=600.0), watch)
    assert [number for number, _, _ in starts] == [0, 1, 2, 0]
    assert starts[1][1] is None
    assert len(starts[3][1]) > 0
    assert starts[3][2] > 2 * starts[0][2]
    assert {one.certificate.status for one in found} == {"optimal"}
    assert [one.solution.trace[-1].problem for one in found] == [0, 1, 2]


def test_the_only_problem_is_not_started_again(rng, monkeypatch):
    calls, train = [], sharded._train

    def counted(*arguments):
        calls.append(None)
        one = train(*arguments)
        certificate = replace(one.trained.certificate, status=Status.TIME_LIMIT)
        return replace(one, trained=replace(one.trained, certificate=certificate))

    monkeypatch.setattr(sharded, "_train", counted)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    job = task(RBF(0.3), CSVC(1.0), X, y, class_weight=np.ones(2), cuts=[30])
    with observers() as watch:
        train_blocks(job, settings(goal=Goal(1e-3), max_time=600.0), watch)
    assert len(calls) == 1
