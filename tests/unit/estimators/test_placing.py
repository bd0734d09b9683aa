"""The parameter device: which values are refused, and when "auto" is a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from support.devices import PlainDevice, use
from widestreet._src.device import finding
from widestreet._src.device.finding import NoDeviceError
from widestreet._src.estimators import placing
from widestreet._src.kernels.kernels import RBF, Linear, Precomputed
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
