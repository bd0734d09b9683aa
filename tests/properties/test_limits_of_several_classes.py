"""Several classes: time, steps, memory and Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from conftest import TOL
from support.class_pairs import GAMMA, SMALL, C, clouds, machine, machines_of, ovo, quietly, rbf
from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.engines.working_set.tile import WorkingSet
from widestreet._src.estimators.callbacks import RoundReporter
from widestreet._src.kernels import kernels as package
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import as_rows
from widestreet._src.shards.runner import LocalRunner
from widestreet._src.status import Status
from widestreet._src.training import engine_sequence, one_vs_one

# -- budgets -----------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def side_by_side(monkeypatch):
    """However few rows: that is what is tested here."""
    monkeypatch.setattr(one_vs_one, "_SERIAL_ROWS", 0)


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_time_at_all(name, n_jobs):
    X, y = clouds()
    model = machine(name, max_time=1e-9, n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning, match=r"time_limit.* in 6 of 6 pairs .*max_time"):
        model.fit(X, y)
    assert [c.status for c in model.certificates_] == ["time_limit"] * 6
    assert np.isfinite(ovo(model, X)).all()
    assert set(model.predict(X)) <= set(y)


def shares(workers: int, seconds: float | None) -> list[float | None]:
    """What each pair of four classes is given when none takes any time."""
    X, y = clouds()
    estimator = machine(max_time=seconds)
    machines = machines_of(y)
    fit = one_vs_one._Fit(
        package.RBF(GAMMA),
        as_rows(X),
        machines,
        estimator._settings(),
        Observers(0, 1e-3, RoundReporter(estimator, X, y)),
        1,
        workers,
    )
    return [fit._shares.share(problem.dual.rows).max_time for problem in machines.problems]


def test_every_pair_gets_its_share_of_the_time():
    """By its rows, of what is left; as many at a time as there are."""
    assert shares(1, None) == [None] * 6
    alone, beside = shares(1, 1000.0), shares(3, 1000.0)
    for one, other in zip(alone, beside, strict=True):
        assert 0 < one <= (1 + TOL.sampled) * other <= (1 + TOL.sampled) * 1000
    assert alone[-1] == pytest.approx(1000, rel=TOL.sampled)  # the last may have all that is left
    assert beside[0] == pytest.approx(3 * alone[0], rel=TOL.sampled)


def test_max_iter_holds_for_each_pair():
    X, y = clouds()
    free = machine().fit(X, y)
    limit = int(np.median(free.n_iter_))
    with pytest.warns(ConvergenceWarning, match=r"iteration_limit.* pairs of classes.*max_iter"):
        model = machine(max_iter=limit).fit(X, y)
    assert (model.n_iter_ <= limit).all()
    statuses = np.array([c.status for c in model.certificates_])
    assert set(statuses) == {"optimal", "iteration_limit"}
    assert (model.n_iter_[statuses == "iteration_limit"] == limit).all()
    assert np.isfinite(ovo(model, X)).all()


@pytest.mark.usefixtures("by_rounds")
def test_working_sets_side_by_side_share_the_memory(monkeypatch):
    """Half of what a tile may take is the tile itself, in float64."""
    held, make = [], WorkingSet.__init__

    def watched(self, gram, dual, capacity, *rest, **options):
        held.append(capacity)
        make(self, gram, dual, capacity, *rest, **options)

    monkeypatch.setattr(WorkingSet, "__init__", watched)
    X, y = clouds(3, 1800)
    for n_jobs in (1, 3):
        held.clear()
        machine(n_jobs=n_jobs, max_memory="8MB", tol=1e-1, gap_tol=None).fit(X, y)
        assert len(held) == 3
        assert sum(sorted(16 * size**2 for size in held)[-n_jobs:]) <= 8e6


# -- Ctrl-C ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("by_rounds")
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_in_one_pair_ends_them_all(name, n_jobs, monkeypatch):
    """Pairs that are done stay as they are, those to come are not begun."""
    X, y = clouds(5)
    whole = machine(name).fit(X, y)
    solve, calls = WorkingSet.solve, []

    def interrupted(self, *arguments):
        calls.append(None)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return solve(self, *arguments)

    monkeypatch.setattr(WorkingSet, "solve", interrupted)
    model = machine(name, n_jobs=n_jobs, on_interrupt="keep")
    with pytest.warns(ConvergenceWarning, match=r"interrupted.* of 10 pairs of classes"):
        model.fit(X, y)
    statuses = [c.status for c in model.certificates_]
    assert set(statuses) == {"optimal", "interrupted"}
    assert model.certificate_.status == "interrupted"
    if n_jobs == 1:
        assert statuses == sorted(statuses, reverse=True)
    decision, right = ovo(model, X), ovo(whole, X)
    assert np.isfinite(decision).all()
    for p, status in enumerate(statuses):
        if status == "optimal":
            assert np.abs(decision[:, p] - right[:, p]).max() <= TOL.decision
    traced = {record.problem for record in model.trace_}
    assert len(traced) < 10
    assert set(model.predict(X)) <= set(y)


class Interrupting:
    """A kernel that is interrupted at one of its calls."""

    def __init__(self, at: int | None, interrupt) -> None:
        self.at, self.interrupt, self.calls = at, interrupt, 0
        self.lock = threading.Lock()

    def __call__(self, A, B):
        with self.lock:
            self.calls += 1
            now = self.calls == self.at
        if now:
            self.interrupt()
        return rbf(A, B)


def raise_interrupt() -> None:
    raise KeyboardInterrupt


def press_ctrl_c() -> None:
    """As a terminal does, which the main thread feels."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent the POSIX way")
interrupts = pytest.mark.parametrize(
    ("n_jobs", "interrupt"),
    [(1, raise_interrupt), (2, raise_interrupt), pytest.param(2, press_ctrl_c, marks=POSIX)],
    ids=["in order", "in a worker", "beside the workers"],
)


@interrupts
def test_an_interrupt_at_any_call_leaves_a_model(n_jobs, interrupt):
    X, y = clouds(3, 60)
    whole = Interrupting(None, interrupt)
    machine(kernel=whole, strategy=SMALL, n_jobs=n_jobs).fit(X, y)
    assert whole.calls > 20
    for at in range(1, whole.calls + 1, 3):
        model = machine(
            kernel=Interrupting(at, interrupt),
            strategy=SMALL,
            n_jobs=n_jobs,
            on_interrupt="keep",
        )
        try:
            quietly(model, X, y)
        except KeyboardInterrupt:
            pytest.fail(f"an interrupt at call {at} was not answered")
        assert model.certificate_.status in ("interrupted", "optimal")
        assert model.certificate_.status == "interrupted" or interrupt is press_ctrl_c
        assert np.isfinite(ovo(model, X)).all()
        for line in model.dual_coef_:
            assert np.abs(line).max(initial=0.0) <= C


@interrupts
def test_an_interrupt_is_raised_by_default(n_jobs, interrupt):
    X, y = clouds(3, 60)
    model = machine(kernel=Interrupting(7, interrupt), strategy=SMALL, n_jobs=n_jobs)
    with (
        pytest.warns(ConvergenceWarning, match=r"interrupted"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, y)
    assert model.certificate_.status == "interrupted"
    assert np.isfinite(ovo(model, X)).all()


def test_an_interrupt_after_the_last_pair_is_raised_too(monkeypatch):
    solve = LocalRunner.map

    def interrupted(self, function, items, on_interrupt=None):
        found = solve(self, function, items)
        if on_interrupt is not None:
            on_interrupt()
        return found

    monkeypatch.setattr(LocalRunner, "map", interrupted)
    X, y = clouds(3, 60)
    model = machine(strategy=SMALL, n_jobs=2)
    with (
        pytest.warns(ConvergenceWarning, match="interrupted"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, y)
    assert model.certificate_.kkt_violation <= model.tol


@pytest.mark.usefixtures("by_rounds")
@pytest.mark.parametrize(
    ("owner", "name", "at"),
    [
        (engine_sequence.ShardSet, "of", 3),
        (WorkingSet, "__init__", 3),
        (one_vs_one, "examine_all", 1),
    ],
    ids=["before a pair", "in the engine's making", "in the proof"],
)
def test_an_interrupt_between_two_pairs_leaves_a_model(owner, name, at, monkeypatch):
    """With many small pairs, a good part of the time is spent outside the engine."""
    function, calls = getattr(owner, name), []

    def interrupted(*arguments, **options):
        calls.append(None)
        if len(calls) == at:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    monkeypatch.setattr(owner, name, interrupted)
    X, y = clouds(4, 60)
    model = machine(on_interrupt="keep")
    try:
        quietly(model, X, y)
    except KeyboardInterrupt:
        pytest.fail("the interrupt was not answered")
    assert model.certificate_.status == "interrupted"
    assert np.isfinite(ovo(model, X)).all()


def test_after_an_interrupt_nobody_waits_for_a_long_proof(monkeypatch):
    monkeypatch.setattr(one_vs_one, "ANSWER_WITHIN", -1.0)
    X, y = clouds(3, 60)
    whole = Interrupting(None, raise_interrupt)
    machine(kernel=whole, strategy=SMALL).fit(X, y)
    for at in range(9, whole.calls, 4):  # also when some pairs are solved
        kernel = Interrupting(at, raise_interrupt)
        model = machine(kernel=kernel, on_interrupt="keep", strategy=SMALL)
        with pytest.warns(ConvergenceWarning, match=r"interrupted.*before the model was certified"):
            model.fit(X, y)
        assert [c.n_rows for c in model.certificates_] == [0, 0, 0]
        assert {c.status for c in model.certificates_} == {"interrupted"}
        assert np.isfinite(ovo(model, X)).all()


def test_no_time_for_the_proof(monkeypatch):
    """What nobody examined is not optimal, whatever the engine says."""

    def late(self, gram, coefs, threads, poll):
        raise OutOfBudget("time_limit")

    monkeypatch.setattr(one_vs_one.PairProblems, "scores", late)
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_time left no time to certify"):
        model = ws.SVC(n_jobs=1, max_time=10, random_state=0).fit(X, y)
    assert {c.status for c in model.certificates_} == {"time_limit"}
    assert model.fit_status_ == 1
    assert model.score(X, y) > 0.9


def test_python_kernels_are_called_by_one_thread_at_a_time():
    inside, most = 0, 0

    def kernel(A, B):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(1e-4)
        inside -= 1
        return A @ B.T

    X, y = load_iris(return_X_y=True)
    ws.SVC(kernel=kernel, n_jobs=4).fit(X, y)
    assert most == 1


@pytest.mark.parametrize("needed", [1, 3])
def test_pairs_that_their_share_ended_continue_while_time_is_left(needed, monkeypatch):
    """They get what the others left over, until they are certified."""
    X, y = clouds(3, 60)
    calls, again, go_on = [], one_vs_one._Fit._again, one_vs_one._Fit._go_on

    def cut(one):
        certificate = replace(one.certificate, status=Status.TIME_LIMIT, dual_objective=-np.inf)
        return replace(one, certificate=certificate)

    def slow(self, p, trained, sharing):
        calls.append(p)
        one = again(self, p, trained, sharing)
        return cut(one) if calls.count(p) < needed else one

    def limited(self, found):
        found[:] = [cut(one) for one in found]
        go_on(self, found)

    monkeypatch.setattr(one_vs_one._Fit, "_again", slow)
    monkeypatch.setattr(one_vs_one._Fit, "_go_on", limited)
    model = machine(max_time=600.0).fit(X, y)
    assert {c.status for c in model.certificates_} == {"optimal"}
    assert calls == [0, 1, 2] * needed


def test_pairs_without_time_for_the_proof_have_estimates(monkeypatch):
    def late(self, gram, coefs, threads, poll):
        raise OutOfBudget("time_limit")

    X, y = load_iris(return_X_y=True)
    honest = ws.SVC(n_jobs=1, random_state=0).fit(X, y)
    monkeypatch.setattr(one_vs_one.PairProblems, "scores", late)
    with pytest.warns(ConvergenceWarning, match="a random sample of"):
        model = ws.SVC(n_jobs=1, max_time=10, random_state=0).fit(X, y)
    for one, other in zip(model.certificates_, honest.certificates_, strict=True):
        assert one.n_rows == 0
        assert one.estimated_gap == pytest.approx(other.relative_gap, abs=TOL.sampled)
