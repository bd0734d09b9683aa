"""Problems over the rows near the margin: the solutions are those of all rows."""

from __future__ import annotations

import tracemalloc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from reference import kernels
from support.machines import GAMMA, data
from support.settings import settings
from widestreet._src.engines.budget import Budget
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.formulations import CSVC, EpsilonSVR, NuSVC
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.training.memory_of_fit import least_memory
from widestreet._src.tuning import near_rows
from widestreet._src.tuning.chain import ChainPoint
from widestreet._src.tuning.kernel_values import Step, StreamedValues
from widestreet._src.tuning.near_rows import Memory, NearRows, are_worthwhile

KINDS = {"svc": CSVC, "svr": EpsilonSVR}
CS = (0.5, 5.0, 50.0)
MEMORY = 10**8


def problems(kind, cs=CS, skewed=False, rows=120, folds=3):
    """Kernel matrix, its values, and chains of some C for some folds, or folds of few classes."""
    X, y = data(kind, rows)
    if skewed:
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    values = StreamedValues(Gram(RBF(GAMMA), as_rows(X, centred=True)), Budget(), 2)
    chains = []
    for fold in range(folds):
        number = np.arange(len(y))
        mine = (folds * number) // len(y) == fold if skewed else number % folds == fold
        weight = np.where(mine, 0.0, 1.0)
        steps = []
        for C in cs:
            formulation = KINDS[kind](C=C)
            dual = formulation.dual(y.astype(np.float64), formulation.box(weight))
            steps.append(Step(dual, C, settings(goal=Goal(TOL.violation))))
        chains.append(steps)
    return kernels.matrix("rbf", X[:120], gamma=GAMMA), values, chains


def solved(values, chains, memory=None):
    """Return the solutions by chain and position."""
    found = {}
    NearRows(values, chains, memory or Memory(MEMORY), lambda: None).solve(
        lambda chain, at, timed: found.setdefault((chain, at), timed[0])
    )
    return found


def check(K, values, chains, found):
    for c, chain in enumerate(chains):
        for k, step in enumerate(chain):
            point, expected = found[c, k], values.solve(step, None)
            score = K @ point.beta.sum(axis=0)
            assert (point.beta >= step.dual.lower).all()
            assert (point.beta <= step.dual.upper).all()
            assert point.beta.sum() == pytest.approx(0.0, abs=TOL.exact * step.scale * len(K))
            assert point.violation <= step.tol
            other = step.dual.objective(expected.beta, K @ expected.beta.sum(axis=0))
            mine = step.dual.objective(point.beta, score)
            assert mine == pytest.approx(other, rel=TOL.strategies_rel)
            np.testing.assert_allclose(point.bias, expected.bias, atol=TOL.decision)
            if point.score is not None:
                np.testing.assert_allclose(point.score, score, atol=TOL.decision)
    assert len(found) == sum(map(len, chains))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("least", [1, 20, 10**6])
def test_solutions_are_those_of_all_rows(monkeypatch, kind, least):
    monkeypatch.setattr(near_rows, "_LEAST_ROWS", least)
    monkeypatch.setattr(near_rows, "_NEAR", 0.0)
    K, values, chains = problems(kind)
    check(K, values, chains, solved(values, chains))


@pytest.mark.parametrize("least", [1, 20])
def test_folds_whose_near_rows_cannot_balance_the_others(monkeypatch, least):
    monkeypatch.setattr(near_rows, "_LEAST_ROWS", least)
    monkeypatch.setattr(near_rows, "_NEAR", 0.0)
    K, values, chains = problems("svc", cs=(1e-5, 1e-3, 1.0), skewed=True)
    check(K, values, chains, solved(values, chains))


def test_boxes_that_are_not_proportional(monkeypatch):
    monkeypatch.setattr(near_rows, "_LEAST_ROWS", 20)
    K, values, chains = problems("svc")
    for chain in chains:
        dual = chain[1].dual
        chain[1] = replace(chain[1], dual=replace(dual, upper=2.0 * dual.upper))
    check(K, values, chains, solved(values, chains))


@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_solves_what_has_too_many_near_rows(monkeypatch, kind):
    monkeypatch.setattr(near_rows, "_LEAST_ROWS", 40)
    monkeypatch.setattr(near_rows, "_MATRIX_SHARE", 8 * 82**2 / MEMORY)  # room for 50 rows
    K, values, chains = problems(kind)
    check(K, values, chains, solved(values, chains))


def test_few_folds_and_fixed_sums_are_not_worthwhile():
    _, _, chains = problems("svc")
    assert are_worthwhile([*chains, chains[0]])
    assert not are_worthwhile(chains)
    _, y = data("svc")
    formulation = NuSVC(nu=0.3)
    dual = formulation.dual(y.astype(np.float64), formulation.box(np.ones(len(y))))
    step = Step(dual, 1.0, settings(goal=Goal(TOL.violation)))
    assert not are_worthwhile([[step]] * 4)


def test_a_stopped_budget_ends_it():
    _, values, chains = problems("svc")
    values.budget.stopped = True
    with pytest.raises(KeyboardInterrupt):
        solved(values, chains)


def test_memory_is_kept_for_the_next_kernel_unless_it_is_large():
    _, values, chains = problems("svc")
    memory = Memory(MEMORY)
    solved(values, chains, memory)
    rows, used = memory.rows, MEMORY - memory.rest(0)
    assert memory.capacity(rows) == rows > 0
    assert used >= 8 * rows**2
    memory.limit = used
    assert memory.rest(0) == memory.limit
    assert memory.rows == 0


def test_memory_is_freed_if_the_engine_needs_it():
    memory = Memory(MEMORY)
    memory.matrix(100, 100)
    memory.rows = 100
    kept = MEMORY - memory.rest(0)
    assert MEMORY - memory.rest(MEMORY - kept) == kept > 0
    assert memory.rest(MEMORY - kept + 1) == MEMORY


def test_a_matrix_that_is_too_small_is_freed_before_a_larger_one_is_allocated():
    _, values, chains = problems("svc", rows=2000)
    memory = Memory(10**7)
    near = NearRows(values, chains, memory, lambda: None)
    tracemalloc.start()
    try:
        for rows in (near._capacity // 2, near._capacity):
            near.rows = np.arange(rows)
            near._fill()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < near_rows._MATRIX_SHARE * memory.limit
    K = kernels.matrix("rbf", data("svc", 2000)[0][near.rows], gamma=GAMMA)
    np.testing.assert_allclose(near._matrix[: len(K), : len(K)], K, atol=TOL.exact)


@pytest.mark.parametrize("kind", KINDS)
def test_measured_memory_of_arrays(kind, monkeypatch):
    """The matrix of few near rows, and blocks of pair steps on it, are small."""
    monkeypatch.setattr(near_rows, "_LEAST_COMING", 10)
    monkeypatch.setattr(near_rows, "_PASSES", 2)
    _, values, chains = problems(kind, rows=6000, folds=12, cs=(5.0,))
    size = values.gram.shape[0]
    near = NearRows(values, chains, Memory(MEMORY), lambda: None)
    choose = near._choose

    def choose_few(folds):
        choose(folds)
        near.rows = np.arange(0, size, 300)

    monkeypatch.setattr(near, "_choose", choose_few)
    step, zero = chains[0][0], np.zeros(size)
    lower = np.min([chain[0].dual.lower for chain in chains], axis=0)
    upper = np.max([chain[0].dual.upper for chain in chains], axis=0)
    start = ChainPoint(
        np.zeros((step.dual.layers, size)), None, np.zeros(1), np.inf, 0, step.scale, 0.0
    )
    near._whole = near_rows._Whole(replace(step.dual, lower=lower, upper=upper), start)
    folds = [near_rows._Fold(chain, zero, zero, zero) for chain in chains]
    values.gram.scan(None, np.arange(0, size, 300), np.ones((12, 20)))  # what rows compute once
    tracemalloc.start()
    try:
        near._solve_folds(folds, 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert near.far  # more rows than these violate
    assert peak < near_rows.memory_of_arrays(size, step.dual.layers, len(chains))


@pytest.mark.parametrize("kind", KINDS)
def test_folds_that_differ_too_much_are_left_to_the_engine(monkeypatch, kind):
    """After the first check of the first C, which finds that they do."""
    K, values, chains = problems(kind)
    calls, solve_whole, judge = [], NearRows._solve_whole, NearRows._check

    def noting(self, *given):
        calls.append(self)
        return solve_whole(self, *given)

    def checking(self, *given, **options):
        judge(self, *given, **options)
        self.far = True

    monkeypatch.setattr(NearRows, "_solve_whole", noting)
    monkeypatch.setattr(NearRows, "_check", checking)
    check(K, values, chains, solved(values, chains))
    assert len(calls) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("least", [20, 10**6])
def test_the_bias_is_the_best_one_of_the_float64_scores(monkeypatch, kind, least):
    """Kernel values of near rows are float32: their scores are not those of the check."""
    monkeypatch.setattr(near_rows, "_LEAST_ROWS", least)
    monkeypatch.setattr(near_rows, "_NEAR", 0.0)
    K, values, chains = problems(kind)
    loose = settings(goal=Goal(1e-3))
    chains = [[replace(step, settings=loose) for step in chain] for chain in chains]
    found = solved(values, chains, Memory(MEMORY, np.float32))
    for (c, k), point in found.items():
        dual = chains[c][k].dual
        F = dual.indicator(K @ point.beta.sum(axis=0))

        def loss(b, dual=dual, F=F):
            return b * dual.total[0] + np.maximum(dual.upper * (F - b), dual.lower * (F - b)).sum()

        best = min(loss(b) for b in F.ravel())
        assert loss(point.bias[0]) <= best + TOL.twin * max(1.0, abs(best))


def test_the_engine_has_the_memory_that_the_arrays_of_folds_leave(monkeypatch):
    _, values, chains = problems("svc")
    near = NearRows(values, chains, Memory(MEMORY), lambda: None)
    near.far = True
    given, solve = [], StreamedValues.solve

    def noting(self, step, before):
        given.append(step.settings.max_memory)
        return solve(self, step, before)

    monkeypatch.setattr(StreamedValues, "solve", noting)
    near.solve(lambda chain, at, timed: None)
    assert given == [MEMORY // 2] * len(CS) * len(chains)  # two folds at a time
    assert chains[0][0].settings.max_memory > MEMORY
    given.clear()
    least = least_memory(chains[0][0].dual, values.gram.left.shape[1])
    near.memory.limit = 2 * least - 1
    near.solve(lambda chain, at, timed: None)
    assert given == [2 * least - 1] * len(CS) * len(chains)


def test_scores_of_solutions_of_the_engine_are_exact(monkeypatch):
    """Those from which the next problem starts; the last ones are not needed."""
    monkeypatch.setattr(near_rows, "_FEW_CHANGED", 10.0)
    K, values, chains = problems("svc")
    near = NearRows(values, chains, Memory(MEMORY), lambda: None)
    near.far = True
    found = {}
    near.solve(lambda chain, at, timed: found.setdefault((chain, at), timed[0]))
    check(K, values, chains, found)
    assert [at for (_, at), point in found.items() if point.score is None].count(2) == len(chains)
    assert all(found[c, k].score is not None for c in range(len(chains)) for k in range(2))


def test_the_engine_keeps_the_last_point_of_one_fold(monkeypatch):
    _, values, chains = problems("svc")
    near = NearRows(replace(values, threads=1), chains, Memory(MEMORY), lambda: None)
    near.far = True
    points, kept, solve = [], [], StreamedValues.solve

    def noting(self, step, before):
        alive = [ref() for ref in points if ref() is not None]
        kept.append([beta is before.beta for beta in alive])
        found = solve(self, step, before)
        points.append(weakref.ref(found.beta))
        return found

    monkeypatch.setattr(StreamedValues, "solve", noting)
    near.solve(lambda chain, at, timed: None)
    assert kept == [[], *[[True]] * (len(CS) - 1)] * len(chains)
