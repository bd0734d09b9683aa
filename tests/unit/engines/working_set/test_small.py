"""Small problems solved whole: when, how they go on, and what is told of them."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from conftest import TOL
from support.class_pairs import clouds, ovo, quietly
from support.class_pairs import machine as classifier
from support.fitting import decision
from support.machines import data, machine
from widestreet import _core
from widestreet._src.engines.working_set import small as whole
from widestreet._src.engines.working_set.rounds import WorkingSetEngine
from widestreet._src.kernels import kernels
from widestreet._src.kernels.gram import Gram
from widestreet._src.reporting import progress
from widestreet._src.rows import as_rows
from widestreet._src.shards.point import Point
from widestreet.strategies import SMO, Auto

pytestmark = [pytest.mark.numeric, pytest.mark.whole]


@pytest.fixture
def no_rounds(monkeypatch):
    """The working-set engine must not be needed."""

    def refuse(self):
        pytest.fail("a small problem was not solved whole")

    monkeypatch.setattr(WorkingSetEngine, "solve", refuse)


@pytest.mark.usefixtures("no_rounds", "chosen_data")  # others need more steps than one call takes
def test_one_round_and_a_certificate(kind):
    model = machine(kind).fit(*data(kind))
    assert [c.status for c in model.certificates_] == ["optimal"] * len(model.certificates_)
    assert [r.problem for r in model.trace_] == list(range(len(model.certificates_)))
    for record, certificate in zip(model.trace_, model.certificates_, strict=True):
        assert (record.round, record.working_set) == (1, certificate.n_rows)
        assert record.violation <= model.tol
        slack = TOL.scan_float64 * (1 + abs(certificate.dual_objective)) * certificate.n_rows
        assert record.dual_objective == pytest.approx(certificate.dual_objective, abs=slack)
        assert record.gap >= certificate.gap - slack
        assert record.kernel_values == certificate.n_rows**2 or certificate.n_rows > 96
    steps = [record.pair_steps for record in model.trace_]
    assert steps == np.atleast_1d(model.n_iter_).tolist()
    assert model.n_kernel_values_ > sum(record.kernel_values for record in model.trace_)


def test_the_same_function_as_by_rounds(kind, monkeypatch):
    X, y = data(kind)
    at_once = machine(kind, tol=1e-9).fit(X, y)
    monkeypatch.setattr(whole, "_MOST_ROWS", 0)
    by_rounds = machine(kind, tol=1e-9).fit(X, y)
    assert np.abs(decision(at_once, X) - decision(by_rounds, X)).max() <= TOL.decision


class Own(Auto):
    """A strategy that wants to be asked."""


@pytest.mark.parametrize(
    ("rows", "strategy", "capacity", "expected"),
    [
        (100, Auto(), 10**6, True),
        (1536, Auto(), 10**6, True),
        (1537, Auto(), 10**6, False),
        (2048, SMO(), 10**6, True),
        (2049, SMO(), 10**6, False),
        (100, Auto(start_size=10), 10**6, False),
        (100, Auto(), 99, False),
        (100, Own(), 10**6, False),
    ],
)
def test_who_is_small(rows, strategy, capacity, expected, rng):
    gram = Gram(kernels.RBF(1.0), as_rows(rng.normal(size=(5, 3))))
    assert whole.suits(gram, rows, strategy, capacity) == expected
    called = Gram(kernels.Callable(lambda A, B: A @ B.T), as_rows(rng.normal(size=(5, 3))))
    assert not whole.suits(called, rows, strategy, capacity)


def test_many_columns_are_not_small(rng):
    """A call must not take long."""
    gram = Gram(kernels.RBF(1.0), as_rows(rng.normal(size=(5, 10_000))))
    assert not whole.suits(gram, 1000, Auto(), 10**6)


# -- what is not done goes on ------------------------------------------------------------------


def test_steps_that_creep_go_on_by_rounds(kind, monkeypatch):
    X, y = data(kind)
    expected = machine(kind, tol=1e-9).fit(X, y)
    monkeypatch.setattr(whole, "_LEAST_STEPS", 3)
    monkeypatch.setattr(whole, "_STEPS_PER_ROW", 0)
    model = machine(kind, tol=1e-9).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert np.abs(decision(model, X) - decision(expected, X)).max() <= TOL.decision
    for p, steps in enumerate(np.atleast_1d(model.n_iter_)):
        records = [record for record in model.trace_ if record.problem == p]
        assert [record.round for record in records] == list(range(1, len(records) + 1))
        assert len(records) > 1
        assert records[0].pair_steps == 3
        assert records[-1].pair_steps == steps


@pytest.mark.parametrize("limit", [1, 4])
def test_max_iter_counts_for_both(kind, limit):
    model = quietly(machine(kind, max_iter=limit), *data(kind))
    assert model.certificate_.status == "iteration_limit"
    assert np.max(model.n_iter_) == limit


def lying(monkeypatch):
    """Let the native call return something else."""
    solve = whole.solve

    def liar(*arguments, **options):
        found = solve(*arguments, **options)
        return [replace(one, point=Point.of(0.5 * one.beta), status="optimal") for one in found]

    monkeypatch.setattr(whole, "solve", liar)


@pytest.mark.parametrize("which", ["svc", "svr", "svc of three"])
def test_a_lie_is_caught_and_put_right(which, monkeypatch):
    X, y = data(which)
    honest = machine(which, tol=1e-9).fit(X, y)
    lying(monkeypatch)
    model = machine(which, tol=1e-9).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert np.abs(decision(model, X) - decision(honest, X)).max() <= TOL.decision


def test_who_lies_always_is_not_believed(kind, monkeypatch):
    lying(monkeypatch)
    solve = WorkingSetEngine.solve

    def liar(self):
        self.inputs = replace(self.inputs, check=None)  # no honest point is examined on the way
        solution = solve(self)
        return replace(solution, point=Point.of(0.5 * solution.beta), status="optimal")

    monkeypatch.setattr(WorkingSetEngine, "solve", liar)
    with pytest.warns(ConvergenceWarning, match="stalled"):
        model = machine(kind).fit(*data(kind))
    assert model.certificate_.status == "stalled"


# -- budgets and interrupts --------------------------------------------------------------------


@pytest.mark.parametrize("where", ["solve", "record"])
def test_an_interrupt_leaves_a_model(kind, where, monkeypatch):
    X, y = data(kind)

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    if where == "solve":
        monkeypatch.setattr(whole, "solve", interrupted)
    else:
        monkeypatch.setattr(progress.Observer, "__call__", interrupted)
    model = quietly(machine(kind, on_interrupt="keep"), X, y)
    assert model.certificate_.status == "interrupted"
    assert np.isfinite(decision(model, X)).all()
    with pytest.raises(KeyboardInterrupt):
        quietly(machine(kind), X, y)


def test_pairs_after_an_interrupt_are_not_begun(monkeypatch):
    """Those of calls that were over stay as they are."""
    monkeypatch.setattr(whole, "CALL_COST", 1e6)  # a call for every few pairs
    X, y = clouds(5)
    done = classifier().fit(X, y)
    solve, calls = whole.solve, []

    def interrupted(gram, duals, *arguments, **options):
        calls.append(len(duals))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solve(gram, duals, *arguments, **options)

    monkeypatch.setattr(whole, "solve", interrupted)
    model = quietly(classifier(on_interrupt="keep"), X, y)
    assert len(calls) == 2
    statuses = [c.status for c in model.certificates_]
    assert statuses == ["optimal"] * calls[0] + ["interrupted"] * (10 - calls[0])
    same = ovo(model, X)[:, : calls[0]] - ovo(done, X)[:, : calls[0]]
    assert np.abs(same).max() <= TOL.decision


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_pairs_in_one_call_are_those_of_many(n_jobs, monkeypatch):
    X, y = clouds(6, 300)
    together = classifier(n_jobs=n_jobs).fit(X, y)
    monkeypatch.setattr(whole, "CALL_COST", 5e6)  # a call for every few pairs
    apart = classifier(n_jobs=n_jobs).fit(X, y)
    assert np.array_equal(together.dual_coef_, apart.dual_coef_)
    assert np.array_equal(together.intercept_, apart.intercept_)
    assert np.array_equal(together.n_iter_, apart.n_iter_)


def test_a_warm_start_begins_where_the_last_fit_ended(kind):
    X, y = data(kind)
    model = machine(kind, warm_start=True).fit(X, y)
    cold = np.sum(model.n_iter_)
    assert np.sum(model.fit(X, y).n_iter_) < cold


def test_small_data_and_little_memory():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ws.SVC(max_memory="2MB", n_jobs=2).fit(X, y)
    assert model.certificate_.status == "optimal"


# -- interrupts ----------------------------------------------------------------------------------


class _Core:
    """The core, with a Ctrl-C that is heard when the first whole problem is solved."""

    def __init__(self) -> None:
        self.calls = 0

    def __getattr__(self, name):
        return getattr(_core, name)

    def solve_small(self, *arguments, **named):
        found = _core.solve_small(*arguments, **named)
        self.calls += 1
        if self.calls == 1:
            raise KeyboardInterrupt
        return found


@pytest.mark.parametrize("classes", [2, 4])
def test_what_an_interrupted_call_reached_is_kept(classes, monkeypatch):
    X, y = make_blobs(200, centers=classes, random_state=0)
    whole_fit = ws.SVC(random_state=0).fit(X, y)
    monkeypatch.setattr(whole, "_core", _Core())
    model = ws.SVC(random_state=0, on_interrupt="keep")
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, y)
    assert model.certificate_.status == "interrupted"
    assert model.fit_status_ == 1
    assert len(model.support_) > 0
    assert (model.predict(X) == whole_fit.predict(X)).all()
    assert model.certificate_.kkt_violation <= model.tol
