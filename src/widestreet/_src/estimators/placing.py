"""The device of a fit or a prediction: the parameter `device`, and rows with a copy there."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from widestreet._src import checks
from widestreet._src.device.contract import Device
from widestreet._src.device.finding import CHOICES, gpu, gpu_or_none
from widestreet._src.device.lent import LentArray, on_device
from widestreet._src.kernels.kernels import RBF, Kernel, Linear, NativeKernel
from widestreet._src.kernels.on_device import copy_to_device
from widestreet._src.rows import DeviceRows, LentRows, Rows, Vectors

# Rows times rows from which on "auto" takes a GPU: below, copies and launches take longer than the
# CPU takes for the scans.
_VALUES_FOR_GPU = 1e9
_VALUES_OF_PREDICTION = 1e9  # kernel values from which on a prediction uses the GPU
_ROWS_TO_COPY = 30_000  # with more, every fit on a device needs all rows there


def check_device(device: Any, kernel: Any) -> None:
    """Refuse a device that is not known, not there, or that cannot compute a kernel."""
    checks.require_choice("device", device, CHOICES)
    if device != "cuda":
        return
    if callable(kernel) or kernel == "precomputed":
        what = "a Python function" if callable(kernel) else "kernel='precomputed'"
        raise ValueError(f"device='cuda' cannot compute {what}: set device='cpu'")
    gpu()


def refuse_gpu(device: str, what: str) -> None:
    """Raise ValueError if a GPU is asked for; `what` names the rows that only the CPU scans."""
    if device == "cuda":
        raise ValueError(f"device='cuda' does not serve {what}: set device='cpu' or 'auto'")


def placed(
    rows: Vectors, kernel: Kernel, device: str, most: int | None, *, needed: bool = True
) -> Vectors:
    """Return rows with a copy on the device of a fit, or the rows if that is the CPU.

    With "auto" the GPU is used if there is one and the fit is large: a kernel matrix of so many
    values that one scan takes longer than the copy of the rows. Linear kernels stay on the CPU.

    Parameters
    ----------
    rows : Vectors
    kernel : Kernel
    device : str
    most : int or None
        Limit of the device memory in bytes.
    needed : bool
        If False, the CPU takes the place of a GPU that is not there.
    """
    if device == "cpu" or not isinstance(kernel, NativeKernel):
        return rows
    small = float(rows.shape[0]) ** 2 < _VALUES_FOR_GPU
    if device == "auto" and (small or isinstance(kernel, Linear)):
        return rows.host if isinstance(rows, LentRows) else rows
    found = gpu() if device == "cuda" and needed else gpu_or_none()
    return rows if found is None else on(found, rows, most)


def lent(X: Any, device: str, kernel: Any) -> Any:
    """Return rows in the memory of a GPU as those of the device; anything else as it is.

    They stay there unless the estimator computes on the CPU. Arrays that are no rows of real
    numbers go to the host, where they are refused.
    """
    native = isinstance(kernel, str) and kernel != "precomputed"
    if device == "cpu" or not native or not on_device(X):
        return X
    shape, dtype = getattr(X, "shape", ()), str(getattr(X, "dtype", ""))
    if len(shape) != 2 or 0 in shape or "complex" in dtype:
        return X
    found = gpu_or_none()
    return X if found is None else found.lend(X)


def on(device: Device, rows: Vectors, most: int | None = None) -> DeviceRows:
    """Return rows with a copy on a device."""
    return DeviceRows(rows, device, device.room() if most is None else most)


@contextmanager
def copying(rows: Rows, kernel: Kernel, threads: int) -> Iterator[None]:
    """Copy rows to their device in another thread, if the fit surely needs them there.

    What fails there is tried again, and fails, where the rows are needed. Sets: the copies.
    """
    with ExitStack() as stack:
        if (
            isinstance(kernel, RBF)
            and isinstance(rows, DeviceRows)
            and not isinstance(rows.data, LentArray)
            and rows.shape[0] > _ROWS_TO_COPY
        ):
            pool = stack.enter_context(ThreadPoolExecutor(1))
            pool.submit(copy_to_device, kernel, rows, threads)
        yield


def close(rows: Rows) -> None:
    """Free the copy of rows on a device, if there is one."""
    if isinstance(rows, DeviceRows):
        rows.close()


def of_prediction(device: str, values: int) -> Device | None:
    """Return the GPU that computes so many kernel values of a prediction; None for the CPU.

    A model that was trained on a GPU predicts on any machine.
    """
    if device == "cpu" or values < _VALUES_OF_PREDICTION:
        return None
    return gpu_or_none()
