"""Weighted samples that are cut short: what was found before counts."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from support.fitting import cut_short
from widestreet import SVC, NuSVC
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.sampling.prsvm_rounds import SamplingEngine
from widestreet._src.status import Status
from widestreet.datasets import checkerboard, twonorm
from widestreet.strategies import ISVM, PRSVM, RSVM, RandSVM

pytestmark = pytest.mark.numeric


@pytest.fixture(scope="module")
def board():
    return checkerboard(2000, random_state=0)


def fitted(X, y, strategy, **options) -> SVC:
    with cut_short():
        model = SVC(C=10, gamma=2.0, strategy=strategy, random_state=0, n_jobs=1, **options)
        return model.fit(X, y)


@pytest.mark.parametrize("certified", [True, False])
@pytest.mark.parametrize("sites", [1, 3])
def test_more_steps_never_make_a_worse_model(board, certified, sites):
    plan = PRSVM(sites=sites, sample_size=300, max_rounds=6, until_certified=certified)
    whole = fitted(*board, plan)
    accuracy, steps = [], [r.pair_steps for r in whole.trace_[:4]]
    for limit in sorted({s + more for s in steps for more in (-1, 0, 1, 50)}):
        model = fitted(*board, plan, max_iter=limit)
        finished = [r.dual_objective for r in model.trace_]
        if finished:  # as good as the last whole round, whatever came after it
            last = finished[-1]
            assert model.certificate_.dual_objective >= last - 1e-9 * abs(last)
            accuracy.append(model.score(*board))
    assert min(accuracy) > 0.8


class Interrupts:
    """A kernel that is interrupted at its n-th call."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, A, B):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return np.exp(-2.0 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("certified", [True, False])
def test_an_interrupt_keeps_what_whole_rounds_found(certified):
    X, y = checkerboard(240, random_state=0)
    plan = PRSVM(sites=2, sample_size=60, max_rounds=4, until_certified=certified)
    ends = 0
    for at in range(2, 60, 3):
        model = SVC(C=10, kernel=Interrupts(at), strategy=plan, random_state=0, on_interrupt="keep")
        with cut_short():
            model.fit(X, y)
        if model.certificate_.status != "interrupted" or not model.trace_:
            continue
        ends += 1
        last = model.trace_[-1].dual_objective
        assert model.certificate_.dual_objective >= last - 1e-9 * abs(last)
        assert model.score(X, y) > 0.7
    assert ends > 3


def test_after_an_interrupt_no_other_sample_is_begun():
    X, y = checkerboard(400, random_state=0)
    samples = []

    class Counting(Interrupts):
        def __call__(self, A, B):
            if self.left <= 0 and len(A) <= 40:  # a certificate has the rows of a shard on the left
                samples.append(len(A))
            return super().__call__(A, B)

    model = SVC(
        C=10,
        kernel=Counting(3),
        strategy=PRSVM(sites=8, sample_size=40),
        random_state=0,
        on_interrupt="keep",
    )
    with cut_short():
        model.fit(X, y)
    assert model.certificate_.status == "interrupted"
    assert samples == []


@pytest.mark.in_process("shards behind a pickling port are copies: the rows are held twice")
def test_many_sites_do_not_take_much_memory():
    X, y = twonorm(20_000, random_state=0)
    peaks = []
    for sites in (1, 60):
        tracemalloc.start()
        fitted(X, y, PRSVM(sites=sites, sample_size=100, max_rounds=2, until_certified=False))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 60 * 20_000 * 8  # less than a dense vector for each


@pytest.mark.parametrize("seed", range(4))
def test_the_reason_for_an_end_is_noted_at_the_end(board, seed):
    """Also where a check found violators that the surveys had skipped, and the search went on."""
    plan = RandSVM(sample_size=200)
    model = SVC(C=10, gamma=2.0, strategy=plan, tol=1e-6, random_state=seed, n_jobs=1).fit(*board)
    ended = [record.notes.get("ended") for record in model.trace_]
    assert ended[-1] == "violators"
    assert not any(ended[:-1])


def test_a_bound_on_support_vectors_counts_those_that_were_chosen():
    X, y = twonorm(3000, random_state=0)
    plan = RandSVM(k=50, sample_size=200)
    model = NuSVC(nu=0.3, gamma=0.05, strategy=plan, random_state=0).fit(X, y)
    assert model.trace_[-1].notes["ended"] == "k"
    assert model.trace_[-1].working_set <= 200


def test_a_warm_start_stays_within_the_memory(board):
    X, y = board
    model = SVC(C=1e4, gamma=2.0, strategy=ISVM(block=64), warm_start=True, random_state=0)
    model.fit(X, y)
    model.set_params(max_memory=3_000_000, C=2e4).fit(X, y)
    largest = max(record.working_set for record in model.trace_)
    free = SVC(C=2e4, gamma=2.0, strategy="auto", max_memory=3_000_000, random_state=0).fit(X, y)
    assert largest <= max(record.working_set for record in free.trace_) or largest <= 1500


def test_samples_of_another_seed_are_solved_otherwise(board):
    X, y = board
    models = [
        SVC(C=10, gamma=2.0, strategy=RSVM(sample_size=300), random_state=seed).fit(X, y)
        for seed in (0, 0, 1)
    ]
    traces = [[r.pair_steps for r in model.trace_] for model in models]
    assert traces[0] == traces[1] != traces[2]


@pytest.mark.parametrize("measured", [True, False])
def test_a_forecast_that_was_too_long_does_not_end_the_rounds(board, measured, monkeypatch):
    """The limit is noticed once; there is time by a second measurement, or after the check."""
    answers, looks = iter([measured]), iter([False, True])
    solve = SamplingEngine._solve_all

    def limited(self, samples):
        if next(looks, False):
            self.budget.affordable = True
            raise OutOfBudget(Status.TIME_LIMIT)
        return solve(self, samples)

    monkeypatch.setattr(SamplingEngine, "_solve_all", limited)
    monkeypatch.setattr(Budget, "worthwhile", property(lambda self: next(answers, True)))
    plan = PRSVM(sites=2, sample_size=300)
    model = SVC(C=10, gamma=2.0, strategy=plan, random_state=0, max_time=600.0).fit(*board)
    assert model.certificate_.status == "optimal"


def test_without_time_the_rounds_end_after_the_check(board, monkeypatch):
    solve, checks = SamplingEngine._solve_all, []

    def limited(self, samples):
        if self.trace:
            self.budget.affordable = True
            raise OutOfBudget(Status.TIME_LIMIT)
        return solve(self, samples)

    confirmed = SamplingEngine._confirmed
    monkeypatch.setattr(
        SamplingEngine, "_confirmed", lambda self: checks.append(None) or confirmed(self)
    )
    monkeypatch.setattr(SamplingEngine, "_solve_all", limited)
    monkeypatch.setattr(Budget, "worthwhile", property(lambda self: False))
    model = fitted(*board, PRSVM(sites=2, sample_size=300), max_time=600.0)
    assert model.certificate_.status == "time_limit"
    assert np.isfinite(model.certificate_.relative_gap)
    assert len(checks) == 1
