"""Errors that say why there is no GPU."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from support.devices import PlainDevice
from widestreet._src.device import finding
from widestreet._src.device.finding import NoDeviceError


def torch(*, cuda="13.0", there=True, capability=(9, 0)):
    def init():
        raise RuntimeError("the driver is too old")

    return SimpleNamespace(
        __version__="2.13",
        version=SimpleNamespace(cuda=cuda),
        cuda=SimpleNamespace(
            is_available=lambda: there,
            init=init,
            get_device_capability=lambda: capability,
            get_device_name=lambda: "an old card",
        ),
    )


def modules(monkeypatch, **found):
    """Let these be the modules that can be imported."""

    def imported(name):
        if name not in found:
            raise ImportError(f"No module named {name!r}", name=name)
        return found[name]

    monkeypatch.setattr(finding, "import_module", imported)
    finding.gpu.cache_clear()


@pytest.fixture(autouse=True)
def again():
    yield
    finding.gpu.cache_clear()


def knobs(interpret):
    return SimpleNamespace(knobs=SimpleNamespace(runtime=SimpleNamespace(interpret=interpret)))


@pytest.mark.parametrize("there", [(), ("torch",)])
def test_without_the_extra_the_error_has_the_command(there, monkeypatch):
    modules(monkeypatch, **{name: torch() for name in there})
    with pytest.raises(NoDeviceError, match=r"device='cuda'.*pip install 'widestreet\[gpu\]'"):
        finding.gpu()
    assert finding.gpu_or_none() is None


def test_an_import_that_fails_is_the_reason(monkeypatch):
    def imported(name):
        raise OSError("libcudart.so: cannot open shared object file")

    monkeypatch.setattr(finding, "import_module", imported)
    finding.gpu.cache_clear()
    with pytest.raises(NoDeviceError, match=r"device='cuda'.*does not work \(OSError: libcudart"):
        finding.gpu()
    assert finding.gpu_or_none() is None


@pytest.mark.parametrize(
    ("triton", "device", "message"),
    [
        (SimpleNamespace(), None, r"AttributeError: .*knobs"),
        (knobs(True), SimpleNamespace(), r"AttributeError: .*CudaDevice"),
    ],
    ids=["an old Triton", "a part is missing"],
)
def test_modules_that_lack_a_part_are_the_reason(triton, device, message, monkeypatch):
    modules(monkeypatch, torch=torch(), triton=triton, **{"widestreet._src.device.cuda": device})
    with pytest.raises(NoDeviceError, match=f"does not work .{message}"):
        finding.gpu()
    assert finding.gpu_or_none() is None


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (torch(cuda=None), "built without it"),
        (torch(there=False), r"no GPU that works with CUDA 13.0 \(the driver is too old\)"),
        (torch(capability=(7, 5)), r"capability 8.0 or more, and an old card has 7.5"),
    ],
)
def test_a_gpu_that_cannot_be_used(found, message, monkeypatch):
    modules(monkeypatch, torch=found, triton=knobs(False))
    with pytest.raises(NoDeviceError, match=message):
        finding.gpu()


@pytest.mark.parametrize(("interpret", "where"), [(True, "cpu"), (False, "cuda")])
def test_a_gpu_or_the_interpreter(interpret, where, monkeypatch):
    made, device = [], PlainDevice()
    cuda = SimpleNamespace(CudaDevice=lambda where: made.append(where) or device)
    found = torch(there=not interpret)
    modules(
        monkeypatch,
        torch=found,
        triton=knobs(interpret),
        **{"widestreet._src.device.cuda": cuda},
    )
    assert finding.gpu() is device
    assert finding.gpu_or_none() is device
    assert made == [where]
