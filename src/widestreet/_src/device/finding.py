"""The device that a parameter names, or the reason why there is none."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, cast

from widestreet._src.device.contract import Device

CHOICES = ("cpu", "cuda", "auto")
_LEAST_CAPABILITY = (8, 0)  # tensor cores for float64
_INSTALL = "pip install 'widestreet[gpu]'"


class NoDeviceError(ValueError):
    """There is no GPU that can be used; the message says why."""


@cache
def gpu() -> Device:
    """Return the GPU of this process; raise NoDeviceError if there is none."""
    try:
        torch, triton = import_module("torch"), import_module("triton")
        interpreted = bool(triton.knobs.runtime.interpret)
        if not interpreted:
            _check(torch)
        where = "cpu" if interpreted else "cuda"
        return cast(Device, import_module("widestreet._src.device.cuda").CudaDevice(where))
    except ImportError as error:
        raise NoDeviceError(
            f"device='cuda' needs PyTorch and Triton, and {error.name or 'one'} cannot be "
            f"imported ({error}): {_INSTALL}"
        ) from error
    except (AttributeError, OSError, RuntimeError) as error:  # of a broken installation
        raise NoDeviceError(
            "device='cuda': PyTorch or Triton is installed and does not work "
            f"({type(error).__name__}: {error}): install both anew ({_INSTALL}), or set "
            "device='cpu'"
        ) from error


def _check(torch: Any) -> None:
    """Raise NoDeviceError unless PyTorch can use a GPU that is new enough."""
    if torch.version.cuda is None:
        raise NoDeviceError(
            f"device='cuda' needs PyTorch with CUDA, and PyTorch {torch.__version__} was built "
            f"without it: install a build with CUDA (https://pytorch.org/get-started)"
        )
    if not torch.cuda.is_available():
        raise NoDeviceError(
            f"device='cuda': PyTorch {torch.__version__} finds no GPU that works with CUDA "
            f"{torch.version.cuda}{_reason(torch)}; see `nvidia-smi` for the driver, or set "
            "device='cpu'"
        )
    found = torch.cuda.get_device_capability()
    if found < _LEAST_CAPABILITY:
        raise NoDeviceError(
            f"device='cuda' needs compute capability {'.'.join(map(str, _LEAST_CAPABILITY))} or "
            f"more, and {torch.cuda.get_device_name()} has {'.'.join(map(str, found))}; set "
            "device='cpu'"
        )


def _reason(torch: Any) -> str:
    """Return what PyTorch says about a GPU that it cannot use."""
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        return f" ({error})"
    return ""


def gpu_or_none() -> Device | None:
    """Return the GPU of this process, or None if there is none."""
    try:
        return gpu()
    except NoDeviceError:
        return None
