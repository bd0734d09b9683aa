"""Working sets that a device solves: same optimum as on the CPU, one variable per row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import widestreet as ws
from support.devices import PlainDevice, use
from support.machines import assert_same_function, assert_same_objective, data, machine
from support.problems import toy_svc
from widestreet._src.device.contract import Look
from widestreet._src.engines.working_set import device_schedule, on_device, state_of_rounds
from widestreet._src.engines.working_set.on_device import put_back, variables_of
from widestreet._src.engines.working_set.tile import WorkingSet
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual

pytestmark = pytest.mark.in_process("rows that were pickled are no longer on a device")


@pytest.fixture
def every_size(monkeypatch, by_rounds):
    monkeypatch.setattr(state_of_rounds, "FEW_FOR_DEVICE", 0)


@pytest.mark.parametrize("few", [0, 512])
@pytest.mark.parametrize("kind", ["svc", "svr", "one_class"])
def test_a_device_solves_the_working_set(kind, few, monkeypatch, every_size):
    device = use(monkeypatch, PlainDevice())
    monkeypatch.setattr(on_device, "_FEW_FREE", few)
    X, y = data(kind)
    one, other = (machine(kind, device=name).fit(X, y) for name in ("cpu", "cuda"))
    assert device.works
    assert {c.status for c in other.certificates_} == {"optimal"}
    assert_same_function(one, other, X)
    assert_same_objective(one, other)


@pytest.mark.parametrize(
    ("free", "violators", "last", "place"),
    [
        (0, 9000, 0, "device"),
        (90, 9000, 2000, "host"),
        (90, 50, 0, "host"),
        (900, 0, 2000, "device"),
    ],
)
def test_where_a_block_is_solved(free, violators, last, place, monkeypatch):
    pace = device_schedule.DevicePacing(steps_of_block=last)
    solve = on_device.Solve(None, 1e-3, None, pace, None, Poll())
    monkeypatch.setattr(solve, "_on_host", lambda look: "host", raising=False)
    monkeypatch.setattr(solve, "_on_device", lambda look: "device", raising=False)
    assert solve._block(Look(1.0, 0.0, free, violators)) == place


def test_two_groups_stay_on_the_cpu(monkeypatch, every_size):
    device = use(monkeypatch, PlainDevice())
    machine("nu_svc", device="cuda").fit(*data("nu_svc"))
    assert not device.works
    assert device.scans


@pytest.mark.parametrize(("few", "steps"), [(0, "pairs"), (512, "draw")])
def test_rows_are_set_aside_and_newton_steps_are_taken(few, steps, monkeypatch, every_size):
    device = use(monkeypatch, PlainDevice())
    monkeypatch.setattr(on_device, "_FEW_FREE", few)
    monkeypatch.setattr(on_device, "_HOST_MOST", 5)
    monkeypatch.setattr(on_device, "_LARGE", 10)
    monkeypatch.setattr(on_device, "_ACTIVE", 2.0)
    monkeypatch.setattr(device_schedule, "_LEAST_STEPS", 5)
    monkeypatch.setattr(device_schedule, "_MOST_STEPS", 5)
    monkeypatch.setattr(on_device.DevicePacing, "due", lambda self, look: True)
    problem = toy_svc(150, 3)
    model = ws.SVC(device="cuda", random_state=0).fit(problem.X, problem.y)
    calls = {call for work in device.works for call in work.calls}
    assert {steps, "newton", "set_aside", "take_back"} <= calls
    assert model.certificate_.status == "optimal"


class Idle(PlainDevice):
    """A device whose working sets do not move."""

    def work(self, *arguments):
        found = super().work(*arguments)
        found.pairs = found.move = lambda *_: found.look()
        return found


class Broken(PlainDevice):
    """A device whose values are no numbers."""

    def work(self, *arguments):
        found = super().work(*arguments)
        found.pairs = found.move = lambda *_: replace(found.look(), highest=np.nan)
        return found


class Full(PlainDevice):
    """A device whose memory is short in every block."""

    def work(self, *arguments):
        found = super().work(*arguments)

        def short(*_):
            raise MemoryError("out of memory")

        found.pairs = found.draw = short
        return found


@pytest.mark.parametrize("device", [Broken, Idle, Full])
def test_the_cpu_continues_where_a_device_stalls(device, monkeypatch, every_size):
    use(monkeypatch, device())
    problem = toy_svc(150, 3)
    model = ws.SVC(device="cuda", random_state=0).fit(problem.X, problem.y)
    assert model.certificate_.status == "optimal"


def test_a_limit_of_steps_leaves_a_consistent_set(monkeypatch, every_size):
    use(monkeypatch, PlainDevice())
    problem = toy_svc(150, 3)
    with pytest.warns(UserWarning, match="max_iter"):
        model = ws.SVC(device="cuda", max_iter=5, random_state=0).fit(problem.X, problem.y)
    assert model.certificate_.status == "iteration_limit"
    assert abs(model.dual_coef_.sum()) < 1e-9


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_two_layers_become_one_coefficient(order, rng):
    t = rng.normal(size=5)
    target, zero = np.stack([t - 0.1, t + 0.1])[order], np.zeros((2, 5))
    lower, upper = np.stack([t * 0, t * 0 - 1])[order], np.stack([t * 0 + 1, t * 0])[order]
    dual = Dual(target, lower, upper, zero.astype(np.uint8), np.zeros(1))
    work = WorkingSet(None, dual, 5, threads=1, stored=False)
    work.size, work.ids, work.score = 5, np.arange(5), np.zeros(5)
    work.target, work.lower, work.upper, work.beta = target, lower, upper, zero.copy()
    found = variables_of(work.target, work.lower, work.upper, work.coef(), work.score)
    np.testing.assert_array_equal(found.target, t - 0.1)
    np.testing.assert_allclose(found.tube, 0.2)
    np.testing.assert_array_equal(found.lower, -1.0)
    coef = np.array([0.5, -0.5, 0.0, 1.0, -1.0])
    put_back(work, coef, t)
    np.testing.assert_array_equal(work.coef(), coef)
    assert (work.beta >= lower).all()
    assert (work.beta <= upper).all()
