"""Online machines: a call that fails changes nothing, and says what is wrong."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from conftest import OF_THREE, TOL
from support.fitting import decision
from support.journals import failing
from support.machines import GAMMA
from support.online_machines import N, add, assert_same, begun, fit, machine, mixed
from widestreet._src.engines.homotopy.parametric_optimum import InfeasibleError, ParametricOptimum
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.path_optimum import PathOptimum
from widestreet.online import load


@pytest.fixture
def rows(kind):
    return mixed(kind)


@pytest.fixture
def model(kind):
    return begun(kind)


# -- a call that fails changes nothing ---------------------------------------------------------


class Broken(Exception):  # noqa: N818
    """What goes wrong in the tests."""


def break_path(monkeypatch, what: type[BaseException], after: int) -> None:
    """Let the path engine fail after some steps."""
    steps = []
    follow, solved = ParametricOptimum.follow, PathOptimum._solved

    def stumble(self, *args, **options):
        steps.append(self)
        if len(steps) > after:
            raise what
        return follow(self, *args, **options)

    def fail(self, *args):
        steps.append(self)
        if len(steps) > after:
            raise what
        return solved(self, *args)

    monkeypatch.setattr(ParametricOptimum, "follow", stumble)
    monkeypatch.setattr(PathOptimum, "_solved", fail)


CALLS = {
    "add a row": lambda m, k, X, y: add(m, k, X[30:31], y[30:31]),
    "add many": lambda m, k, X, y: add(m, k, X[20:], y[20:]),
    "add to a full window": lambda m, k, X, y: add(m.set_params(max_rows=30), k, X[30:], y[30:]),
    "add another class": lambda m, k, X, y: add(m, k, X[30:32], y[30:32] * 0 - 7, [9.0, 6.0]),
    "announce a class": lambda m, k, X, y: add(
        m, k, X[30:31], y[30:31], **({"classes": [-9, 9]} if "svc" in k else {})
    ),
    "forget": lambda m, k, X, y: m.forget([0, 29, 4]),
    "change weights": lambda m, k, X, y: m.change_weight([0, 29, 4], [0.0, 2.0, 3.0]),
    "fit": lambda m, k, X, y: fit(m, k, X[10:], y[10:]),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("what", [Broken, KeyboardInterrupt])
def test_a_call_that_is_broken_off_changes_nothing(kind, model, rows, what, call, monkeypatch):
    X, y = rows
    before, state, broken = decision(model, X), set(vars(model)), 0
    for after in (0, 1):
        other = copy.deepcopy(model)
        with monkeypatch.context() as patch:
            break_path(patch, what, after)
            try:
                CALLS[call](other, kind, X, y)
                continue  # it was all over before
            except what:
                broken += 1
        assert other.ids_.tolist() == list(range(30))
        np.testing.assert_array_equal(decision(other, X), before)
        assert set(vars(other)) == state
        again = copy.deepcopy(other)
        assert again.verify().status == "optimal"
        np.testing.assert_allclose(decision(again, X), before, rtol=0, atol=TOL.detour)
        wanted = CALLS[call](copy.deepcopy(model), kind, X, y)
        assert_same(CALLS[call](other, kind, X, y), wanted, X, TOL.detour)
        np.testing.assert_array_equal(other.ids_, wanted.ids_)
    assert broken > 0


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_fails_at_the_very_end_changes_nothing(kind, rows, call, stored, monkeypatch):
    """When rows have been removed for good and the model is to be published."""
    X, y = rows
    model = add(machine(kind), kind, stored(X[:30]), y[:30])
    before, state = decision(model, X), set(vars(model))
    other = copy.deepcopy(model)
    with monkeypatch.context() as patch:
        patch.setattr(OnlineMachine, "_published", failing(MemoryError()))
        with pytest.raises(MemoryError):
            CALLS[call](other, kind, X, y)
    assert other.ids_.tolist() == list(range(30))
    np.testing.assert_array_equal(decision(other, X), before)
    assert set(vars(other)) == state
    assert other.verify().status == "optimal"
    wanted = CALLS[call](copy.deepcopy(model), kind, X, y)
    assert_same(CALLS[call](other, kind, X, y), wanted, X, TOL.detour)
    np.testing.assert_array_equal(other.ids_, wanted.ids_)


def test_a_second_failure_leaves_no_part_of_the_problems(monkeypatch):
    """The problems are solved anew after a failure, and that may fail, too."""
    kind = "svc" + OF_THREE
    X, _ = mixed(kind)
    model = begun(kind)
    before = decision(model, X)
    for after in (0, 1, 2):
        with monkeypatch.context() as patch:
            break_path(patch, Broken, after)
            for call in (lambda: model.forget(3), model.verify):
                with pytest.raises(Broken):
                    call()
    assert model.verify().status == "optimal"
    assert len(model.certificates_) == 3
    np.testing.assert_allclose(decision(model, X), before, rtol=0, atol=TOL.detour)


def test_a_change_that_fails_is_not_in_the_journal(tmp_path, monkeypatch):
    X, y = mixed("svr")
    model = add(machine("svr"), "svr", X[:30], y[:30], journal=tmp_path / "rows.journal")
    with monkeypatch.context() as patch:
        patch.setattr(OnlineMachine, "_published", failing(MemoryError()))
        with pytest.raises(MemoryError):
            model.forget(3, journal=tmp_path / "rows.journal")
    model.end_journal()
    assert load(tmp_path / "rows.journal").ids_.tolist() == model.ids_.tolist() == list(range(30))


BAD = {
    "NaN": ({"X": lambda X: X * np.nan}, "NaN"),
    "more columns": ({"X": lambda X: np.hstack([X, X])}, "features"),
    "no rows": ({"X": lambda X: X[:0], "y": lambda y: y[:0]}, "0 sample"),
    "another length": ({"y": lambda y: np.r_[y, y]}, "inconsistent|shape"),
    "negative weights": ({"weight": -np.ones(6)}, "negative"),
    "too many weights": ({"weight": np.ones(7)}, "shape"),
    "too large": ({"X": lambda X: X * 1e200}, "scale"),
}


@pytest.mark.parametrize("how", ["partial_fit", "fit"])
@pytest.mark.parametrize("bad", BAD)
def test_bad_rows_change_nothing(kind, model, rows, bad, how):
    if (kind == "one_class" and bad == "another length") or (how == "fit" and "columns" in bad):
        return  # nothing is wrong with that
    X, y = rows
    change, match = BAD[bad]
    before, state = decision(model, X), set(vars(model))
    arguments = (
        change.get("X", lambda X: X)(X[30:]),
        change.get("y", lambda y: y)(y[30:]),
        change.get("weight"),
    )
    with pytest.raises(ValueError, match=match):
        (add if how == "partial_fit" else fit)(model, kind, *arguments)
    assert model.ids_.tolist() == list(range(30))
    assert set(vars(model)) == state
    np.testing.assert_array_equal(decision(model, X), before)
    assert_same(add(model, kind, X[30:], y[30:]), fit(machine(kind), kind, X, y), X)


def test_a_first_call_that_fails_leaves_nothing(kind, rows, monkeypatch):
    X, y = rows
    model = machine(kind)
    state = set(vars(model))
    with monkeypatch.context() as patch:
        break_path(patch, Broken, 0)
        with pytest.raises(Broken):
            add(model, kind, X, y)
    assert set(vars(model)) == state
    with pytest.raises(NotFittedError):
        decision(model, X)
    add(model, kind, X[:, :2], y)  # another number of columns is as good
    assert model.n_features_in_ == 2


def test_a_failure_after_all_rows_are_gone_does_not_number_them_anew(kind, model, rows):
    X, y = rows
    model.forget(model.ids_)
    with pytest.raises(ValueError, match="NaN"):
        add(model, kind, X * np.nan, y)
    assert add(model, kind, X, y).ids_.tolist() == list(range(30, 30 + N))


def test_a_path_without_a_solution_names_the_function_that_is_the_kernel(monkeypatch):
    """A path exists for positive semidefinite kernels only, which a function need not be."""

    def fails(*_, **__):
        raise InfeasibleError(0.5, 0)

    X, y = mixed("svc")
    model = add(machine("svc", kernel=lambda A, B: A @ B.T), "svc", X[:30], y[:30])
    monkeypatch.setattr(ParametricOptimum, "follow", fails)
    with pytest.raises(ValueError, match="kernel must be symmetric and positive semidefinite"):
        add(model, "svc", X[30:], y[30:])
    assert model.n_rows_ == 30


def test_a_kernel_that_fails(kind, rows):
    X, y = rows
    calls = []

    def kernel(A, B):
        if calls:
            raise Broken
        return np.exp(-GAMMA * ((A[:, None] - B) ** 2).sum(axis=2))

    model = add(machine(kind, kernel=kernel), kind, X[:30], y[:30])
    before = decision(model, X)
    calls.append("no more")
    for call in ("add a row", "forget", "fit"):
        with pytest.raises(Broken):
            CALLS[call](model, kind, X, y)
    calls.clear()
    assert model.ids_.tolist() == list(range(30))
    np.testing.assert_array_equal(decision(model, X), before)
    assert_same(add(model, kind, X[30:], y[30:]), fit(machine(kind), kind, X, y), X)


@pytest.mark.parametrize("call", ["add a row", "fit", "forget", "change weights"])
def test_bad_parameters_are_refused_by_every_call(kind, model, rows, call):
    bad = {"C": -1.0, "nu": 1.5, "epsilon": -0.1, "tol": 0.0, "n_jobs": 0}
    good = model.get_params()
    for name in sorted(set(bad) & set(good)):
        model.set_params(**{name: bad[name]})
        with pytest.raises(ValueError, match=name):
            CALLS[call](model, kind, *rows)
        model.set_params(**good)
    assert model.n_rows_ == 30


def test_a_window_must_have_room(kind, model, rows):
    with pytest.raises(ValueError, match="max_rows"):
        add(model.set_params(max_rows=0), kind, *rows)


# -- ids ---------------------------------------------------------------------------------------


def test_nothing_can_be_forgotten_before_there_is_anything(kind):
    model = machine(kind)
    for call in (
        lambda: model.forget(0),
        lambda: model.change_weight(0, 1.0),
        model.verify,
        model.leave_one_out,
        lambda: model.ids_,
        lambda: model.n_rows_,
        lambda: model.certificate_,
    ):
        with pytest.raises(NotFittedError):
            call()


def test_an_array_is_no_class_weight():
    with pytest.raises(ValueError, match="class_weight must be"):
        fit(machine("svc", class_weight=np.array([1.0, 2.0])), "svc", *mixed("svc"))
