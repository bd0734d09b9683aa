"""Pairs of classes side by side on a device: the models of the CPU, and who takes part."""

from __future__ import annotations

import logging
import os
import signal
import time
import warnings
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from conftest import TOL
from support.class_pairs import GAMMA, clouds, machine, machines_of, ovo, quietly
from support.devices import PlainBatch, PlainDevice, device_of, use
from widestreet._src.engines.working_set import batch_on_device
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import DeviceRows, as_rows
from widestreet._src.status import Status
from widestreet._src.training import one_vs_one, pairs_on_device
from widestreet._src.training.engine_sequence import Solver
from widestreet._src.training.pair_forecast import PairForecast
from widestreet._src.training.pairs_on_device import pairs_for_device

pytestmark = pytest.mark.in_process("rows that were pickled are no longer on a device")


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """However little work there is: that is what is tested here."""
    monkeypatch.setattr(pairs_on_device, "_LEAST_COST", 0.0)


def assert_same_models(one, other, X):
    """Certificates prove both; decision values may differ by what tol leaves open."""
    for left, right in zip(one.certificates_, other.certificates_, strict=True):
        assert left.status == right.status == "optimal"
        assert left.n_rows == right.n_rows
        assert left.dual_objective == pytest.approx(right.dual_objective, rel=TOL.objective_rel)
    assert np.abs(ovo(one, X) - ovo(other, X)).max() <= TOL.decision


def both(X, y, weight=None, **options):
    return [machine(device=name, **options).fit(X, y, weight) for name in ("cpu", "cuda")]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_models_of_the_cpu(n_jobs, monkeypatch):
    device = use(monkeypatch, PlainDevice())
    X, y = clouds()
    one, other = both(X, y, n_jobs=n_jobs)
    assert [len(batch.works) for batch in device.batches] == [6]
    assert not device.works
    assert_same_models(one, other, X)
    assert [record.problem for record in other.trace_] == list(range(6))


def test_the_models_of_the_cpu_by_triton(monkeypatch):
    use(monkeypatch, device_of("triton"))
    X, y = clouds(3, 60)
    one, other = both(X, y, tol=1e-4)
    for left, right in zip(one.certificates_, other.certificates_, strict=True):
        assert left.status == right.status == "optimal"
        assert left.dual_objective == pytest.approx(right.dual_objective, rel=TOL.strategies_rel)


def test_weights_of_rows_and_classes(monkeypatch, rng):
    use(monkeypatch, PlainDevice())
    X, y = clouds(3)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], len(y))
    weight[[np.flatnonzero(y == c)[0] for c in range(3)]] = 1.0
    assert_same_models(*both(X, y, weight, class_weight={0: 0.5, 2: 2.0}), X)


def test_a_warm_start_takes_few_steps(monkeypatch):
    device = use(monkeypatch, PlainDevice())
    X, y = clouds(3)
    model = machine(device="cuda", warm_start=True).fit(X, y)
    cold = model.n_iter_.sum()
    assert model.fit(X, y).n_iter_.sum() < 0.5 * cold
    assert len(device.batches) == 2


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ({}, True),
        ({"kernel": "poly", "degree": 2, "coef0": 1.0}, True),
        ({"kernel": "linear"}, False),
        ({"kernel": "laplacian"}, False),
        ({"loss": "squared_hinge"}, False),
        ({"name": "NuSVC"}, False),
        ({"strategy": "randsvm"}, False),
    ],
)
def test_who_takes_part(options, taken, monkeypatch):
    device = use(monkeypatch, PlainDevice())
    X, y = clouds(3)
    model = machine(**{"device": "cuda", "tol": 1e-3, **options}).fit(X, y)
    assert bool(device.batches) == taken
    assert {c.status for c in model.certificates_} == {"optimal"}


def test_pairs_for_device(monkeypatch):
    X, y = clouds(4)
    machines, settings = machines_of(y), machine()._settings()
    plain = as_rows(X, centred=True)
    assert pairs_for_device(Gram(RBF(GAMMA), plain), machines, settings, 1) == []
    there = Gram(RBF(GAMMA), DeviceRows(plain, PlainDevice(), 1 << 30))
    assert pairs_for_device(there, machines, settings, 1) == list(range(6))
    sizes = [problem.dual.rows for problem in machines.problems]
    most = sorted(sizes)[2]
    monkeypatch.setattr(pairs_on_device, "FEW_FOR_DEVICE", most)
    few = [p for p, rows in enumerate(sizes) if rows <= most]
    assert pairs_for_device(there, machines, settings, 1) == few
    monkeypatch.setattr(pairs_on_device, "_LEAST_COST", 1e9)
    assert pairs_for_device(there, machines, settings, 1) == []


# -- failures ----------------------------------------------------------------------------------


class Idle(PlainBatch):
    def pairs(self, width, to):
        return self.look()


class Stalling(PlainDevice):
    """A device whose problems make no progress."""

    def batch(self, *arguments):
        return Idle(super().batch(*arguments).works)


class Full(PlainDevice):
    """A device without memory for problems."""

    def batch(self, *arguments):
        raise MemoryError("out of memory")


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("device", [Stalling, Full])
def test_the_cpu_continues(device, n_jobs, monkeypatch):
    use(monkeypatch, device())
    X, y = clouds(3)
    assert_same_models(*both(X, y, n_jobs=n_jobs), X)


@pytest.mark.parametrize("device", [Stalling, Full])
def test_pairs_that_continue_share_the_time_before_the_examination(device, monkeypatch):
    use(monkeypatch, device())
    monkeypatch.setattr(PairForecast, "seconds", lambda forecast, solved=False: 3e5)
    given, by_rounds = [], Solver.by_rounds

    def observed(solver, problem, observe):
        given.append(solver.budget.max_time)
        return by_rounds(solver, problem, observe)

    monkeypatch.setattr(Solver, "by_rounds", observed)
    monkeypatch.setattr(one_vs_one, "is_small", lambda *arguments: False)
    X, y = clouds(3)
    machine(device="cuda", max_time=1e6).fit(X, y)
    sizes = np.bincount(y)[[0, 0, 1]] + np.bincount(y)[[1, 2, 2]]
    parts = sizes / np.cumsum(sizes[::-1])[::-1]  # of those that are left
    assert given == pytest.approx(7e5 * parts, rel=TOL.sampled)


def test_an_interrupt_ends_pairs_that_continue(monkeypatch):
    """Ctrl-C reaches one thread only."""
    use(monkeypatch, Stalling())
    monkeypatch.setattr(one_vs_one, "_SERIAL_ROWS", 0)
    calls, stopped = count(), []

    def finish(solver, problem, solution):
        first = next(calls) == 0
        for k in range(500):
            if first and k == 20:  # the other threads were started
                os.kill(os.getpid(), signal.SIGINT)
            if not solver.budget.stopped:
                time.sleep(0.01)
        stopped.append(solver.budget.stopped)
        return replace(solution, status=Status.INTERRUPTED)

    monkeypatch.setattr(Solver, "finish", finish)
    X, y = clouds(3)
    model = quietly(machine(device="cuda", n_jobs=2, on_interrupt="keep"), X, y)
    assert {c.status for c in model.certificates_} == {"interrupted"}
    assert set(stopped) == {True}


def test_a_failure_of_the_device_is_a_warning(monkeypatch):
    class Failing(PlainDevice):
        def batch(self, *arguments):
            raise RuntimeError("a program was not compiled")

    use(monkeypatch, Failing())
    X, y = clouds(3)
    with pytest.warns(RuntimeWarning, match="RuntimeError: a program was not compiled"):
        model = machine(device="cuda").fit(X, y)
    assert {c.status for c in model.certificates_} == {"optimal"}


def test_problems_that_do_not_fit_side_by_side(monkeypatch):
    device = use(monkeypatch, PlainDevice())
    monkeypatch.setattr(batch_on_device, "_BYTES_OF_SLOT", 1 << 40)
    X, y = clouds(3)
    assert_same_models(*both(X, y), X)
    assert not device.batches


class Interrupted(PlainDevice):
    """A device in whose second round Ctrl-C is pressed."""

    def batch(self, *arguments):
        class Stopping(PlainBatch):
            def pairs(self, width, to):
                if self.calls:
                    raise KeyboardInterrupt
                to = batch_on_device.Extent(to.goal, 0.0, 0.0, 2, to.limit)
                return super().pairs(width, to)

        return Stopping(super().batch(*arguments).works)


def test_an_interrupt_leaves_the_models_so_far(monkeypatch):
    use(monkeypatch, Interrupted())
    X, y = clouds(3)
    model = quietly(machine(device="cuda", on_interrupt="keep"), X, y)
    assert {c.status for c in model.certificates_} == {"interrupted"}
    assert len(model.support_)


def test_an_interrupt_ends_the_pairs_of_all_calls(monkeypatch):
    device = use(monkeypatch, Interrupted())
    monkeypatch.setattr(batch_on_device, "_MOST_PROBLEMS", 1)
    X, y = clouds(3)
    model = quietly(machine(device="cuda", on_interrupt="keep"), X, y)
    assert {c.status for c in model.certificates_} == {"interrupted"}
    assert len(device.batches) == 1


def test_an_interrupt_between_two_calls_keeps_what_was_solved(monkeypatch):
    class Late(PlainDevice):
        def batch(self, *arguments):
            if self.batches:
                raise KeyboardInterrupt
            return super().batch(*arguments)

    use(monkeypatch, Late())
    monkeypatch.setattr(batch_on_device, "_MOST_PROBLEMS", 1)
    X, y = clouds(3)
    model = quietly(machine(device="cuda", on_interrupt="keep"), X, y)
    assert [c.status for c in model.certificates_] == ["optimal", "interrupted", "interrupted"]


def test_a_limit_of_steps(monkeypatch):
    use(monkeypatch, PlainDevice())
    X, y = clouds(3)
    model = quietly(machine(device="cuda", max_iter=3), X, y)
    assert model.n_iter_.tolist() == [3, 3, 3]
    assert {c.status for c in model.certificates_} == {"iteration_limit"}


def test_a_time_limit(monkeypatch):
    use(monkeypatch, PlainDevice())
    X, y = clouds(3)
    model = quietly(machine(device="cuda", max_time=1e-6), X, y)
    assert {c.status for c in model.certificates_} == {"time_limit"}


def test_the_log_says_who_solved_the_pairs(monkeypatch, caplog):
    use(monkeypatch, PlainDevice())
    with caplog.at_level(logging.INFO, "widestreet"), warnings.catch_warnings():
        machine(device="cuda").fit(*clouds(3))
    assert "solved 3 of 3 pairs of classes side by side" in caplog.text
