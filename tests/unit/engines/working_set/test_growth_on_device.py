"""Working sets that grow on a device: same optimum as on the CPU, every round in the trace."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from support.devices import DEVICES, PlainDevice, device_of, use
from support.machines import assert_same_function, assert_same_objective, data, machine
from support.problems import toy_svc
from widestreet._src.engines.working_set import (
    growth_on_device,
    state_of_rounds,
    switch_to_float64,
)
from widestreet._src.kernels.on_device import DeviceBackend
from widestreet.strategies import SMO, RandSVM

pytestmark = pytest.mark.in_process("rows that were pickled are no longer on a device")
FEW = ws.strategies.Auto(start_size=10)  # 20 rows on a device


@pytest.fixture(autouse=True)
def every_size(monkeypatch, by_rounds):
    monkeypatch.setattr(state_of_rounds, "FEW_FOR_DEVICE", 0)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("kind", ["svc", "svr", "one_class"])
def test_the_working_set_grows_on_the_device(where, kind, monkeypatch):
    use(monkeypatch, device_of(where))
    X, y = data(kind)
    one, other = (machine(kind, device=name, strategy=FEW).fit(X, y) for name in ("cpu", "cuda"))
    assert {c.status for c in other.certificates_} == {"optimal"}
    assert_same_function(one, other, X)
    assert_same_objective(one, other)


def test_every_round_has_a_record(monkeypatch):
    device = use(monkeypatch, PlainDevice())
    problem = toy_svc(150, 3)
    model = ws.SVC(device="cuda", strategy=FEW, random_state=0)
    model.fit(problem.X, problem.y)
    [work] = device.works  # one for all rounds
    trace = model.trace_
    assert work.calls.count("census") == len(trace) > 2
    assert [r.round for r in trace] == list(range(1, len(trace) + 1))
    assert trace[0].working_set == 20
    duals = np.array([r.dual_objective for r in trace])
    assert (np.diff(duals) > 0).all()
    assert (np.array([r.gap for r in trace]) > 0).all()
    assert trace[-1].n_sv == len(model.support_)
    assert trace[-1].violators == 0
    assert {"solve", "survey"} <= set(trace[0].timings)


def test_without_memory_for_all_rows_violators_come_from_the_host(monkeypatch):
    device = use(monkeypatch, PlainDevice())
    monkeypatch.setattr(state_of_rounds, "_BYTES_OUTSIDE", 1 << 40)
    problem = toy_svc(150, 3)
    model = ws.SVC(device="cuda", strategy=FEW, random_state=0).fit(problem.X, problem.y)
    assert model.certificate_.status == "optimal"
    assert not any("census" in work.calls for work in device.works)


@pytest.mark.parametrize("strategy", [SMO(), RandSVM()])
def test_other_strategies_choose_their_rows_themselves(strategy, monkeypatch):
    device = use(monkeypatch, PlainDevice())
    problem = toy_svc(150, 3)
    model = ws.SVC(device="cuda", strategy=strategy, random_state=0).fit(problem.X, problem.y)
    assert model.certificate_.status == "optimal"
    assert device.works
    assert not any("census" in work.calls for work in device.works)


def test_a_failed_check_starts_from_exact_scores(monkeypatch):
    device = use(monkeypatch, PlainDevice())
    of_device = device.work

    def work(*arguments):
        """The first time, no row but those of the first working set seems to violate."""
        found = of_device(*arguments)
        if len(device.works) == 1:
            found.score = found.variables.target.copy()
        return found

    device.work = work
    X, y = data("svc")
    one, other = (machine("svc", device=name, strategy=FEW).fit(X, y) for name in ("cpu", "cuda"))
    assert len(device.works) > 1
    assert other.certificate_.status == "optimal"
    assert_same_objective(one, other)


def test_a_limit_of_steps_leaves_a_consistent_set(monkeypatch):
    use(monkeypatch, PlainDevice())
    problem = toy_svc(150, 3)
    with pytest.warns(UserWarning, match="max_iter"):
        model = ws.SVC(device="cuda", strategy=FEW, max_iter=30, random_state=0).fit(
            problem.X, problem.y
        )
    assert model.certificate_.status == "iteration_limit"
    assert abs(model.dual_coef_.sum()) < 1e-9


def test_an_interrupt_leaves_the_model_so_far(monkeypatch):
    use(monkeypatch, PlainDevice())
    problem = toy_svc(150, 3)

    noted = growth_on_device._note

    def note(inputs, state, census, size):
        noted(inputs, state, census, size)
        if state.trace:
            raise KeyboardInterrupt

    monkeypatch.setattr(growth_on_device, "_note", note)
    model = ws.SVC(device="cuda", strategy=FEW, random_state=0, on_interrupt="keep")
    with pytest.warns(UserWarning, match="interrupt"):
        model.fit(problem.X, problem.y)
    assert model.certificate_.status == "interrupted"
    assert len(model.support_) > 0


@pytest.mark.parametrize("at_once", [True, False])
def test_a_check_in_one_call_takes_the_place_of_comparisons(at_once, monkeypatch):
    """Single precision is not compared with exact scores where these cost as much as a check."""
    use(monkeypatch, PlainDevice())
    monkeypatch.setattr(DeviceBackend, "values_per_call", 1e9 if at_once else 0.0)
    asked = []
    for name in ("check_float32", "exact_violation"):
        function = getattr(switch_to_float64, name)
        monkeypatch.setattr(
            switch_to_float64,
            name,
            lambda *given, f=function, n=name: asked.append(n) or f(*given),
        )
    problem = toy_svc(150, 3)
    model = ws.SVC(device="cuda", strategy=FEW, random_state=0).fit(problem.X, problem.y)
    assert model.certificate_.status == "optimal"
    assert sorted(set(asked)) == ([] if at_once else ["check_float32", "exact_violation"])
