"""Backend of rows with a copy on a device: scans run there, blocks of kernel values on the CPU.

A block is needed in the memory of the host, where the core computes it in about the time that the
bus takes to carry it. Scans carry one number per row.

The bounds on rounding count the operations of the device. In float64 they are those of the core
(rounding_bounds.py), with sums of products in one sequence. Half precision has bounds of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import e, log2, sqrt
from typing import ClassVar

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.device.batch_contract import Batch
from widestreet._src.device.contract import Device, Held, Map, Variables, Work
from widestreet._src.kernels import rounding_bounds
from widestreet._src.kernels.kernels import RBF, Laplacian, NativeKernel, Poly, Sigmoid
from widestreet._src.kernels.native import NativeBackend
from widestreet._src.rows import DeviceRows, Vectors
from widestreet._src.rows.on_device import memory_left, rows_that_fit
from widestreet._src.stacklevel import level_of_caller

_SCAN_COST = 1e12  # multiply-adds of a scan: about a tenth of a second in float64
# Kernel values that a device computes while the host prepares one more scan: some thousandths of a
# second, in which it finds what changed since an old expansion, and the rows with scores of it.
_VALUES_PER_CALL = 2e9
# Right rows are copied in blocks of so many blocks of left rows: half of the memory for rows. The
# bounds on rounding allow one more partial sum per 32 of them.
_PARTS_OF_VECTORS, _LEAST_VECTORS = 4, 32


def map_of(kernel: NativeKernel, far: bool) -> Map:
    """Return the map that computes a kernel."""
    match kernel:
        case RBF(gamma) if not far:
            return Map("rbf", sqrt(2.0 * gamma * log2(e)))
        case RBF(gamma):
            return Map("far_rbf", sqrt(gamma * log2(e)))
        case Laplacian(gamma):
            return Map("laplacian", gamma * log2(e))
        case Poly(gamma, coef0, degree):
            return Map("poly", sqrt(gamma), float(coef0), int(degree))
        case Sigmoid(gamma, coef0):
            return Map("sigmoid", sqrt(gamma), float(coef0))
        case _:
            return Map("linear", 1.0)


def copy_to_device(kernel: NativeKernel, rows: DeviceRows, threads: int) -> None:
    """Copy rows to their device, as scans of this kernel need them. Sets: the copies."""
    rows.held(DeviceBackend(kernel, rows, rows, threads)._map)


@dataclass(frozen=True, eq=False)
class Resident:
    """All rows of a Gram matrix in the memory of a device.

    Attributes
    ----------
    device : Device
    by : Map
    held : Held
    index : ndarray or None
        Positions of the rows of the Gram matrix among those held; None means all in order.
    spare : int
        Bytes that working sets may take.
    """

    device: Device
    by: Map
    held: Held
    index: Ints | None
    spare: int

    def places(self, rows: Ints) -> Ints:
        """Return the positions of rows among those held."""
        return rows if self.index is None else self.index[rows]

    def work(self, rows: Ints, variables: Variables, near: float, double: bool) -> Work:
        """Return a working set of some rows in the memory of the device."""
        return self.device.work(self.by, self.held, rows, variables, near, double)

    def batch(
        self, rows: Ints, sizes: Ints, variables: Variables, near: float, width: int
    ) -> Batch:
        """Return problems over some rows in the memory of the device."""
        return self.device.batch(self.by, self.held, rows, sizes, variables, near, width)


@dataclass(frozen=True)
class DeviceBackend(NativeBackend):
    """Backend of one native kernel whose left rows have a copy on a device."""

    left: DeviceRows

    scan_cost: ClassVar[float | None] = _SCAN_COST
    values_per_call: ClassVar[float] = _VALUES_PER_CALL
    shares_scans: ClassVar[bool] = False
    precision: ClassVar[Callable[..., rounding_bounds.RBFBound]] = staticmethod(
        rounding_bounds.half_precision
    )

    @cached_property
    def _map(self) -> Map:
        return map_of(self.kernel, self._far)

    def resident(self, index: Ints | None) -> Resident | None:
        """Return the rows on the device, if all of them are there and it can take steps on them."""
        by = self._map
        if by.of_differences or by.kind == "linear" or self.right is not self.left:
            return None
        held = self.left.held(by)
        if held is None:
            return None
        return Resident(self.left.device, by, held, index, memory_left(self.left))

    def facing(self, right: Vectors) -> DeviceBackend:
        """Return the backend of the same left rows and other right rows."""
        return replace(self, right=right)

    def together(self, I: Ints | None, width: int) -> Ints | None:
        """Return None: no order of the rows saves work on a device."""
        return None

    @property
    def _sparse(self) -> bool:
        """True if products are added up in one sequence, as the bounds for sparse rows assume."""
        return not self._map.of_differences or super()._sparse

    def add_scan(
        self, I: Ints | None, J: Ints | None, coef: Floats, out: Floats, double: bool
    ) -> None:
        """Add K[I, J] @ coef to `out` for each line of `coef`. Sets: out, shortages of the rows.

        The core computes what the memory of the device does not suffice for: its errors are within
        the bounds for the device. The first time a warning says so.
        """
        try:
            sums = self._scan_on_device(I, J, coef, double)
        except MemoryError as error:
            self.left.close()
            self.left.shortages.append(str(error))
            if len(self.left.shortages) == 1:
                rows, fit = self.left, rows_that_fit(self.left)
                warnings.warn(
                    f"memory of the device {rows.device.name} is short, and the CPU computes some "
                    f"kernel values: {fit:,} of {rows.shape[0]:,} rows fit at once now; use less "
                    f"of it elsewhere, train on fewer rows, or set device='cpu' ({error})",
                    RuntimeWarning,
                    stacklevel=level_of_caller(),
                )
            sums = np.zeros_like(out)
            super().add_scan(I, J, coef, sums, double)
        out += sums

    def _scan_on_device(self, I: Ints | None, J: Ints | None, coef: Floats, double: bool) -> Floats:
        """Return the sums of the whole copy on the device, or of rows block by block."""
        parts = self._vectors(J, coef.shape[1])
        return reduce(np.add, (self._sums(I, *part, coef, double) for part in parts))

    def _sums(
        self, I: Ints | None, part: slice, right: Held, J: Ints | None, coef: Floats, double: bool
    ) -> Floats:
        """Return the sums over a block of the right rows."""
        rows, by, some = self.left, self._map, np.ascontiguousarray(coef[:, part])
        whole = rows.held(by)
        if whole is not None:
            return rows.device.scan(by, whole, I, right, J, some, double)
        count, step = rows.shape[0] if I is None else len(I), rows.at_once
        sums = np.empty((len(coef), count))
        for a in range(0, count, step):
            end = min(a + step, count)
            held = rows.hold(by, slice(a, end) if I is None else I[a:end])
            sums[:, a:end] = rows.device.scan(by, held, None, right, J, some, double)
        return sums

    def _vectors(self, J: Ints | None, count: int) -> Iterator[tuple[slice, Held, Ints | None]]:
        """Yield blocks of the right rows on the device, and their positions there."""
        rows, by, other = self.left, self._map, self.right
        whole = other.held(by) if isinstance(other, DeviceRows) else None
        if whole is not None:
            yield slice(count), whole, J
            return
        other = other if isinstance(other, DeviceRows) else DeviceRows(other, rows.device, 0)
        step = max(_LEAST_VECTORS, _PARTS_OF_VECTORS * rows.at_once)
        for a in range(0, count, step):
            part = slice(a, min(a + step, count))
            yield part, other.hold(by, part if J is None else J[part]), None
