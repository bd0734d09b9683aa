"""Arrays that users pass in the memory of a device.

They are found by the protocols of DLPack and of the CUDA array interface, without an import of the
library that made them. Results go back as arrays of the same library on the same device.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints, Real

_ON_DEVICE = (2, 13)  # types of DLPack: memory of CUDA, and memory that CUDA manages


class LentArray(ABC):
    """Rows of float32 or float64 in the memory of a device.

    NumPy converts them to an array in the memory of the host, as `lent[rows]` does with some.

    Attributes
    ----------
    device : Device
    shape : tuple of int
    dtype : dtype
        Of the rows on the host.
    """

    device: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Real:
        return np.asarray(self[:], dtype=dtype)

    @abstractmethod
    def __getitem__(self, index: Ints | slice) -> Real:
        """Copy some rows to the host."""

    @abstractmethod
    def part(self, index: Ints | slice) -> LentArray:
        """Return some rows on the device."""

    @abstractmethod
    def finite(self) -> bool:
        """Return whether all values are finite."""

    @abstractmethod
    def largest(self) -> float:
        """Return the largest absolute value."""

    @abstractmethod
    def moments(self, weight: Floats | None, origin: Floats) -> tuple[Floats, Floats]:
        """Return sums over the rows of w (x - origin) and of w (x - origin)^2, for each column."""

    @abstractmethod
    def squares(self, origin: Floats | None, index: Ints | None) -> Floats:
        """Return |x - origin|^2 of some rows, or of all."""

    @abstractmethod
    def repeated(self) -> Ints:
        """Return all rows that have an equal, ascending; few others may be among them."""

    def mean(self, weight: Floats | None = None) -> Floats:
        """Return the mean of each column."""
        total = float(len(self) if weight is None else weight.sum())
        first = self.moments(weight, np.zeros(self.shape[1]))[0] / total
        return first + self.moments(weight, first)[0] / total


def on_device(array: Any) -> bool:
    """Return whether an array is in the memory of a GPU."""
    if isinstance(array, np.ndarray):
        return False
    where = getattr(array, "__dlpack_device__", None)
    if where is not None:
        return int(where()[0]) in _ON_DEVICE
    return hasattr(array, "__cuda_array_interface__")


def on_host(array: Any) -> Any:
    """Return an array of another library as one of NumPy; anything else as it is.

    Arrays in the memory of the host are not copied.
    """
    away = on_device(array)
    if isinstance(array, np.ndarray) or not (away or hasattr(array, "__dlpack__")):
        return array
    array = detached(array)
    if away and hasattr(array, "get"):  # CuPy
        return array.get()
    if away and hasattr(array, "cpu"):  # PyTorch
        return array.cpu().numpy()
    return np.asarray(array)


def detached(array: Any) -> Any:
    """Return a tensor of PyTorch without its gradient; any other array as it is."""
    return array.detach() if getattr(array, "requires_grad", False) else array


def returned(values: Any, like: Any) -> Any:
    """Return values of the host as an array of the library and on the device of `like`.

    They stay an array of NumPy if they are text, or if the library has no `asarray`.
    """
    module = type(like).__module__.partition(".")[0]
    library: Any = getattr(like, "__array_namespace__", lambda: sys.modules.get(module))()
    if values.dtype.kind not in "biuf" or not hasattr(library, "asarray"):
        return values
    try:
        return library.asarray(values, device=like.device)
    except TypeError:  # CuPy: its devices are contexts
        with like.device:
            return library.asarray(values)
