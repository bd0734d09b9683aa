"""Fits and predictions on a device: the model of the CPU, certified by the device's own scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import KINDS, OF_THREE, TOL
from support.devices import DEVICES, PlainDevice, device_of, use
from support.fitting import decision
from support.machines import (
    CLASSIFIERS,
    KERNELS,
    assert_same_function,
    assert_same_objective,
    data,
    machine,
)
from support.problems import toy_svc
from widestreet._src.certificate import spot_check
from widestreet._src.engines.working_set import state_of_rounds
from widestreet._src.estimators import placing

pytestmark = [
    pytest.mark.filterwarnings("ignore:the margin is zero"),
    pytest.mark.in_process("rows that were pickled are no longer on a device"),
]


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_svm_has_the_model_of_the_cpu(where, kind, monkeypatch):
    use(monkeypatch, device_of(where))
    X, y = data(kind)
    one, other = (machine(kind, device=name).fit(X, y) for name in ("cpu", "cuda"))
    assert {c.status for c in other.certificates_} == {"optimal"}
    assert_same_function(one, other, X)
    assert_same_objective(one, other)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_by_rounds(where, kernel, monkeypatch, by_rounds):
    use(monkeypatch, device_of(where))
    X, y = data("svc", 60)
    one, other = (
        machine("svc", device=name, **KERNELS[kernel]).fit(X, y) for name in ("cpu", "cuda")
    )
    assert other.certificate_.status == one.certificate_.status
    assert_same_objective(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_all_rounds_on_the_device(kind, monkeypatch, by_rounds):
    device = use(monkeypatch, PlainDevice())
    X, y = data(kind)
    one, other = (machine(kind, device=name).fit(X, y) for name in ("cpu", "cuda"))
    assert_same_function(one, other, X)
    assert device.held == [len(X)] * bool(device.scans)
    assert device.scans or kind.endswith(OF_THREE)  # small pairs may stay in the core
    assert device.released == 1


@pytest.mark.parametrize("size", [4000, 1 << 30])
def test_rows_larger_than_the_device(size, monkeypatch, by_rounds):
    device = use(monkeypatch, PlainDevice(size=size))
    X, y = data("svc")
    one, other = (machine("svc", device=name).fit(X, y) for name in ("cpu", "cuda"))
    assert_same_function(one, other, X)
    assert (len(device.held) > 1) == (size < 1 << 30)


def test_sparse_rows(monkeypatch, by_rounds):
    use(monkeypatch, PlainDevice())
    X, y = data("svc")
    one = machine("svc").fit(X, y)
    other = machine("svc", device="cuda").fit(sparse.csr_matrix(X), y)
    assert_same_function(one, other, X)


def test_wrong_scores_are_not_certified(monkeypatch, by_rounds):
    use(monkeypatch, PlainDevice(off=0.5))
    monkeypatch.setattr(spot_check, "_COMPARISON_VALUES", 0)
    problem = toy_svc(200, 3)
    with (
        pytest.warns(ws.ConvergenceWarning) if hasattr(ws, "ConvergenceWarning") else pytest.warns()
    ):
        model = ws.SVC(device="cuda", random_state=0).fit(problem.X, problem.y)
    assert not model.certificate_.status.success


@pytest.mark.parametrize("where", [*DEVICES, None])
def test_certificates_of_one_model_agree(where, monkeypatch):
    device = device_of(where) if where else None
    use(monkeypatch, device)
    X, y = data("svr", 120)
    model = machine("svr").fit(X, y)
    on_cpu, other = (
        ws.certify(model.set_params(device=on), X, y, tol=1e-3) for on in ("cpu", "cuda")
    )
    assert other.status == on_cpu.status == "optimal"
    assert other.dual_objective == pytest.approx(on_cpu.dual_objective, rel=TOL.twin)
    assert other.kkt_violation == pytest.approx(on_cpu.kkt_violation, abs=TOL.twin)
    if where == "numpy":
        assert device.scans
        assert device.released == 1


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_on_the_device(where, kind, monkeypatch):
    X, y = data(kind)
    model = machine(kind, device="cuda")
    use(monkeypatch, PlainDevice())
    model.fit(X, y)
    on_cpu, labels = decision(model, X), model.predict(X)
    use(monkeypatch, device_of(where))
    monkeypatch.setattr(placing, "_VALUES_OF_PREDICTION", 0)
    size = np.abs(on_cpu).max()
    np.testing.assert_allclose(decision(model, X), on_cpu, rtol=0, atol=TOL.twin * size)
    if kind in CLASSIFIERS:
        np.testing.assert_array_equal(model.predict(X), labels)


class Interrupted(PlainDevice):
    """A device during whose second scan Ctrl-C is pressed."""

    def scan(self, *arguments):
        if len(self.scans) == 1:
            self.scans.append((0, 0, False))
            raise KeyboardInterrupt
        return super().scan(*arguments)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_interrupt_leaves_the_model_so_far(monkeypatch, by_rounds):
    device = use(monkeypatch, Interrupted())
    problem = toy_svc(4000, 3)
    model = ws.SVC(device="cuda", on_interrupt="keep", random_state=0, n_jobs=1)
    model.fit(problem.X, problem.y)
    assert model.certificate_.status == "interrupted"
    assert len(model.support_)
    assert device.released == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_time_limit_ends_the_fit(monkeypatch, by_rounds):
    use(monkeypatch, PlainDevice())
    problem = toy_svc(400, 3)
    model = ws.SVC(device="cuda", max_time=1e-9).fit(problem.X, problem.y)
    assert model.certificate_.status == "time_limit"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("aggregate", ["ensemble", "last"])
def test_ensembles_on_the_device(where, aggregate, monkeypatch):
    device = use(monkeypatch, device_of(where))
    X, y = data("svc" + OF_THREE, 60)
    given = {"gamma": 0.5, "aggregate": aggregate, "prune": 0.0, "folds": None}
    given |= {"learning_rate": 0.01, "max_iter": 12}  # as many steps, however sums are rounded
    one, other = (ws.EnsembleSVC(device=name, **given).fit(X, y) for name in ("cpu", "cuda"))
    np.testing.assert_array_equal(one.n_iter_, other.n_iter_)
    assert_same_function(one, other, X)
    if where == "numpy":
        assert device.held == [60]  # all pairs of classes share the rows on the device
        assert len(device.scans) > int(other.n_iter_.sum())
        assert device.released == 1


class Full(PlainDevice):
    """A device whose memory is short from the second scan on."""

    def scan(self, *arguments):
        if len(self.scans) >= 1:
            raise MemoryError("another process uses it")
        return super().scan(*arguments)


def test_short_memory_leaves_the_rest_to_the_cpu(monkeypatch, by_rounds):
    device = use(monkeypatch, Full())
    problem = toy_svc(2000, 3)
    one = ws.SVC(random_state=0).fit(problem.X, problem.y)
    said = r"memory of the device NumPy is short.*: [0-9,]+ of 2,000 rows fit.*device='cpu'"
    with pytest.warns(RuntimeWarning, match=said):
        other = ws.SVC(device="cuda", random_state=0).fit(problem.X, problem.y)
    assert other.certificate_.status == "optimal"
    assert_same_objective(one, other)
    assert device.released >= 1


def test_max_memory_limits_the_device(monkeypatch, by_rounds):
    device = use(monkeypatch, PlainDevice(size=1 << 40))
    monkeypatch.setattr(state_of_rounds, "FEW_FOR_DEVICE", 0)
    monkeypatch.setattr(device, "bytes_per_row", lambda features: 100_000)
    problem = toy_svc(1000, 3)
    model = ws.SVC(device="cuda", max_memory="20MB").fit(problem.X, problem.y)
    assert model.certificate_.status == "optimal"
    assert max(device.held) <= 0.7 * 200  # rows that are copied block by block, or support vectors
    assert not device.works


def test_working_sets_fit_beside_the_rows(monkeypatch, by_rounds):
    device = use(monkeypatch, PlainDevice(size=1 << 40))
    monkeypatch.setattr(state_of_rounds, "FEW_FOR_DEVICE", 0)
    problem = toy_svc(1000, 3)
    for memory, solved in (("60MB", False), ("200MB", True)):
        model = ws.SVC(device="cuda", max_memory=memory).fit(problem.X, problem.y)
        assert model.certificate_.status == "optimal"
        assert bool(device.works) == solved
        assert 1000 in device.held
