"""The parameter device: which values are refused, and when "auto" is a GPU."""

from __future__ import annotations

from threading import current_thread

import numpy as np
import pytest

import widestreet as ws
from support.devices import PlainDevice, use
from widestreet._src.device import finding
from widestreet._src.device.finding import NoDeviceError
from widestreet._src.estimators import placing
from widestreet._src.kernels.kernels import RBF, Linear, Precomputed
from widestreet._src.kernels.on_device import copy_to_device
from widestreet._src.rows import DeviceRows, as_rows

ROWS = as_rows(np.ones((10, 2)))


@pytest.fixture
def gpu(monkeypatch):
    return use(monkeypatch, PlainDevice())


@pytest.mark.parametrize("device", ["gpu", None, ["cpu"]])
def test_another_device_is_refused(device):
    with pytest.raises(ValueError, match="device must be one of 'cpu', 'cuda', 'auto'"):
        ws.SVR(device=device).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize(
    ("kernel", "what"), [("precomputed", "kernel='precomputed'"), (np.dot, "a Python function")]
)
def test_kernels_that_a_gpu_cannot_compute(kernel, what, gpu):
    with pytest.raises(ValueError, match=f"cannot compute {what}: set device='cpu'"):
        ws.SVC(kernel=kernel, device="cuda").fit(np.eye(2), [0, 1])
    assert placing.placed(ROWS, Precomputed(), "auto", None) is ROWS


def test_without_a_gpu_the_error_comes_from_the_search(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(finding, "import_module", missing)
    finding.gpu.cache_clear()
    with pytest.raises(NoDeviceError, match="pip install"):
        ws.SVC(device="cuda").fit([[0.0], [1.0]], [0, 1])
    monkeypatch.setattr(placing, "_VALUES_FOR_GPU", 0)
    assert placing.placed(ROWS, RBF(1.0), "auto", None) is ROWS
    assert ws.SVC(device="auto").fit([[0.0], [1.0]], [0, 1]).certificate_.status == "optimal"
    finding.gpu.cache_clear()


def test_auto_takes_the_gpu_for_large_fits(gpu, monkeypatch):
    assert placing.placed(ROWS, RBF(1.0), "cpu", None) is ROWS
    assert placing.placed(ROWS, RBF(1.0), "auto", None) is ROWS
    assert isinstance(placing.placed(ROWS, RBF(1.0), "cuda", None), DeviceRows)
    monkeypatch.setattr(placing, "_VALUES_FOR_GPU", 100)
    assert isinstance(placing.placed(ROWS, RBF(1.0), "auto", None), DeviceRows)
    assert placing.placed(ROWS, Linear(), "auto", None) is ROWS


def test_max_memory_limits_the_memory_of_the_device(gpu):
    assert placing.placed(ROWS, RBF(1.0), "cuda", 1000).most == 1000
    assert placing.placed(ROWS, RBF(1.0), "cuda", None).most == gpu.room()


def test_large_predictions_use_the_gpu_if_there_is_one(gpu, monkeypatch):
    assert placing.of_prediction("cpu", 10**12) is None
    assert placing.of_prediction("cuda", 10) is None
    assert placing.of_prediction("cuda", 10**12) is gpu
    monkeypatch.setattr(placing, "gpu_or_none", lambda: None)
    assert placing.of_prediction("cuda", 10**12) is None


def test_rows_are_freed_only_if_they_are_on_a_device(gpu):
    placing.close(ROWS)
    placing.close(placing.on(gpu, ROWS))
    assert gpu.released == 1


def test_rows_are_copied_while_the_host_looks_for_equal_ones(gpu, monkeypatch, rng):
    monkeypatch.setattr(placing, "_ROWS_TO_COPY", 50)
    hold, threads = gpu.hold, []
    gpu.hold = lambda *given: threads.append(current_thread()) or hold(*given)
    X = rng.normal(size=(60, 2))
    models = [ws.SVC(device="cuda").fit(X[:n], X[:n, 0] > 0) for n in (60, 50)]
    assert {model.certificate_.status for model in models} == {"optimal"}
    assert gpu.held == [60, 50]  # once each
    assert threads[0] is not current_thread() is threads[1]


def test_a_copy_that_fails_is_an_error_where_the_rows_are_needed(gpu, monkeypatch):
    monkeypatch.setattr(placing, "_ROWS_TO_COPY", 5)

    def broken(*given):
        raise RuntimeError("the device is broken")

    gpu.hold = broken
    rows = placing.placed(ROWS, RBF(1.0), "cuda", None)
    with placing.copying(rows, RBF(1.0), 1):
        pass
    with pytest.raises(RuntimeError, match="broken"):
        copy_to_device(RBF(1.0), rows, 1)


def test_rows_that_stay_on_the_host(gpu, monkeypatch):
    monkeypatch.setattr(placing, "_ROWS_TO_COPY", 5)
    rows = placing.placed(ROWS, RBF(1.0), "cuda", None)
    for some, kernel in ((ROWS, RBF(1.0)), (rows, Linear())):
        with placing.copying(some, kernel, 1):
            pass
    assert gpu.held == []
