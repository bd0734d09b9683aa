"""Arrays of users as tensors of PyTorch, without a copy where they are on the same device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.device.lent import LentArray, detached

if TYPE_CHECKING:
    from widestreet._src.device.cuda import CudaDevice

_VALUES_AT_ONCE = 1 << 24  # whose float64 copies, or bits, are in memory
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)  # odd, with bits at random
_SHIFT = 29  # of the bits between two products


def as_tensor(array: Any, where: Any) -> Any:
    """Return an array of another library as a tensor on a device.

    Memory on that device is shared. Arrays without `__dlpack__` have the CUDA array interface.
    """
    if not isinstance(array, torch.Tensor):
        array = torch.from_dlpack(array) if hasattr(array, "__dlpack__") else torch.as_tensor(array)
    return detached(array).to(where)


class TensorArray(LentArray):
    """Rows of a tensor. All but float32 becomes float64."""

    device: CudaDevice

    def __init__(self, device: CudaDevice, tensor: Any) -> None:
        if tensor.dtype not in (torch.float32, torch.float64):
            tensor = tensor.to(torch.float64)
        self.device, self.tensor = device, tensor
        self.shape = tuple(tensor.shape)
        self.dtype = np.dtype(np.float32 if tensor.dtype == torch.float32 else np.float64)

    def __getitem__(self, index: Ints | slice) -> Real:
        found: Real = self.device.fetch(self._some(index))
        return found

    def part(self, index: Ints | slice) -> TensorArray:
        """Return some rows on the device."""
        return TensorArray(self.device, self._some(index))

    def _some(self, index: Ints | slice) -> Any:
        return self.tensor[index if isinstance(index, slice) else self.device.to(np.asarray(index))]

    def _blocks(self, tensor: Any = None) -> Iterator[tuple[slice, Any]]:
        """Yield parts of the rows, few enough for copies of their values."""
        tensor = self.tensor if tensor is None else tensor
        step = max(1, _VALUES_AT_ONCE // max(1, self.shape[1]))
        for a in range(0, len(tensor), step):
            yield slice(a, a + step), tensor[a : a + step]

    def finite(self) -> bool:
        """Return whether all values are finite."""
        total = torch.stack([x.sum(dtype=torch.float64) for _, x in self._blocks()]).sum()
        return bool(torch.isfinite(total)) or bool(torch.isfinite(self.tensor).all())

    def largest(self) -> float:
        """Return the largest absolute value."""
        if self.tensor.numel() == 0:
            return 0.0
        low, high = torch.aminmax(self.tensor)
        return float(torch.maximum(-low, high))

    def moments(self, weight: Floats | None, origin: Floats) -> tuple[Floats, Floats]:
        """Return sums over the rows of w (x - origin) and of w (x - origin)^2, for each column."""
        here = self.device.to(origin)
        every = None if weight is None else self.device.to(weight)
        total = torch.zeros((2, len(here)), dtype=torch.float64, device=here.device)
        for rows, part in self._blocks():
            x = part.to(torch.float64) - here
            w = torch.ones_like(x[:, 0]) if every is None else every[rows]
            total[0] += w @ x
            total[1] += w @ x.square_()
        first, second = self.device.fetch(total)
        return first, second

    def squares(self, origin: Floats | None, index: Ints | None) -> Floats:
        """Return |x - origin|^2 of some rows, or of all."""
        some = self.tensor if index is None else self._some(index)
        here = None if origin is None else self.device.to(origin)
        found = torch.empty(len(some), dtype=torch.float64, device=some.device)
        for rows, part in self._blocks(some):
            x = part.to(torch.float64)
            x = x if here is None else x - here
            found[rows] = torch.linalg.vecdot(x, x)
        square: Floats = self.device.fetch(found)
        return square

    def repeated(self) -> Ints:
        """Return all rows that have an equal, ascending; few others may be among them.

        Rows are compared by a number of 64 bits, computed from the bits of their values.
        """
        kind = torch.int32 if self.dtype == np.float32 else torch.int64
        columns = np.random.default_rng(0).integers(1 << 62, size=self.shape[1], dtype=np.int64)
        salt = self.device.to(columns)
        first, second = (factor - (1 << 64) for factor in _FACTORS)
        number = torch.zeros(len(self), dtype=torch.int64, device=self.tensor.device)
        for rows, part in self._blocks():
            bits = (part + 0.0).contiguous().view(kind).to(torch.int64)  # -0.0 becomes 0.0
            bits = (bits ^ salt) * first
            bits = (bits ^ (bits >> _SHIFT)) * second
            number[rows] = (bits ^ (bits >> _SHIFT)).sum(1)
        ordered, place = number.sort()
        same = ordered[1:] == ordered[:-1]
        equal = torch.zeros(len(self), dtype=torch.bool, device=self.tensor.device)
        equal[place[1:][same]] = True
        equal[place[:-1][same]] = True
        found: Ints = self.device.fetch(torch.nonzero(equal).flatten())
        return found
