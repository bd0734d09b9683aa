"""An NVIDIA GPU: memory and transfers by PyTorch, scans by Triton programs.

Nothing here is imported before a device is asked for. With Triton's interpreter the same code runs
on the CPU, where tests use it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from math import ceil, frexp
from typing import Any

import numpy as np
import torch
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.device import triton_kernels as programs
from widestreet._src.device.batch import CudaBatch
from widestreet._src.device.contract import LANES, MOST_PARTS, Map, Variables
from widestreet._src.device.growing import GrowingWork
from widestreet._src.device.launching import Launch
from widestreet._src.device.tensors import TensorArray, as_tensor
from widestreet._src.device.working import CudaWork

log = logging.getLogger("widestreet")

_LEAST_COLUMNS, _MOST_COLUMNS = 16, 64  # of features that a program multiplies at a time
_EXPONENT = 10  # halves of features are at most 2^10: far from overflow, and from lost digits
_LARGEST_SHIFT = 60  # of the exponent of features
_UPLOAD_VALUES = 1 << 24  # values that are copied to the device at a time
_ROWS, _VECTORS = 64, 128  # of a block of kernel values in half precision
_SHORT = 8  # blocks whose float32 values are added up before they go to float64
_PROGRAMS_PER_UNIT = 8  # of a multiprocessor, while there are enough
_LEAST_PART = 512  # vectors of a part of a sum
_OPTIONS = {"num_warps": 4}  # of all scans


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows in device memory, padded with zero columns.

    Attributes
    ----------
    rows, features : int
    full : tensor of float64, shape (rows, width)
    norm : tensor of float64, shape (rows,)
        Half of the squared norms.
    high, low : tensor of float16, shape (rows, width), or None
        Both halves of 2^shift times the features.
    short_norm : tensor of float32, or None
    shift : int
    """

    rows: int
    features: int
    full: Any
    norm: Any
    high: Any
    low: Any
    short_norm: Any
    shift: int

    @property
    def width(self) -> int:
        return int(self.full.shape[1])


class CudaDevice:
    """A GPU, or Triton's interpreter.

    Parameters
    ----------
    where : str
        Name of the device in PyTorch.

    Attributes
    ----------
    name : str
    carried : int
        Bytes that were copied to the device and back so far.
    """

    def __init__(self, where: str) -> None:
        self._where = torch.device(where)
        self._compiled: set[tuple[Any, ...]] = set()
        self._units, self.carried = 2, 0
        self.name = "Triton's interpreter"
        if self._where.type == "cuda":
            found = torch.cuda.get_device_properties(self._where)
            self._units, self.name = found.multi_processor_count, found.name

    def room(self) -> int:
        """Return the number of bytes that are free."""
        if self._where.type != "cuda":
            return 1 << 30
        free, _ = torch.cuda.mem_get_info(self._where)
        held, used = _bytes_of_pytorch(self._where)
        return int(free) + held - used

    def release(self, kept: int = 0) -> None:
        """Return memory that is not in use to other processes, if it is more than `kept` bytes."""
        if self._where.type != "cuda":
            return
        held, used = _bytes_of_pytorch(self._where)
        if held - used > kept:
            torch.cuda.empty_cache()

    def peak(self) -> int:
        """Return the largest number of bytes in use since the last call."""
        if self._where.type != "cuda":
            return 0
        found = torch.cuda.max_memory_allocated(self._where)
        torch.cuda.reset_peak_memory_stats(self._where)
        return int(found)

    def bytes_per_row(self, features: int) -> int:
        """Return the memory that a row takes."""
        return 12 * padded(features) + 24

    # -- rows --------------------------------------------------------------------------------------

    def hold(self, values: Any, centre: Floats | None, by: Map) -> HeldRows:
        """Copy rows to the device; raise MemoryError if they do not fit."""
        try:
            return self._held(values, centre, by)
        except torch.OutOfMemoryError as error:
            raise MemoryError(str(error)) from error

    def _held(self, values: Any, centre: Floats | None, by: Map) -> HeldRows:
        n, d = values.shape
        full = torch.zeros((n, padded(d)), dtype=torch.float64, device=self._where)
        middle = None if centre is None else self.to(centre)
        step = max(1, _UPLOAD_VALUES // max(1, d))
        for a in range(0, n, step):
            x = _copied(self, values, slice(a, a + step)).to(torch.float64)
            full[a : a + step, :d] = (x if middle is None else x - middle) * by.factor
        norm = 0.5 * torch.linalg.vecdot(full, full)
        if by.of_differences or by.kind == "linear":
            return HeldRows(n, d, full, norm, None, None, None, 0)
        largest = float(full.abs().max()) if n and d else 0.0
        shift = 0 if largest == 0 else min(_LARGEST_SHIFT, _EXPONENT - frexp(largest)[1])
        high, low = _halves(full, step, 2.0**shift)
        return HeldRows(n, d, full, norm, high, low, norm.to(torch.float32), shift)

    def lend(self, array: Any) -> TensorArray:
        """Return rows that a user passed in the memory of a device, without a copy on the host."""
        return TensorArray(self, as_tensor(array, self._where))

    def to(self, array: Any) -> Any:
        """Copy an array to the device. Sets: carried."""
        self.carried += array.nbytes
        return torch.from_numpy(np.require(array, requirements=["C", "W"])).to(self._where)

    def fetch(self, tensor: Any) -> Any:
        """Copy a tensor to the host. Sets: carried."""
        found = tensor.cpu().numpy()
        self.carried += found.nbytes
        return found

    def fetch_all(self, *tensors: Any) -> list[Any]:
        """Copy tensors to the host, and wait once. Sets: carried."""
        cuda = self._where.type == "cuda"
        found = [torch.empty(t.shape, dtype=t.dtype, pin_memory=cuda) for t in tensors]
        for host, tensor in zip(found, tensors, strict=True):
            host.copy_(tensor, non_blocking=True)
            self.carried += host.nbytes
        if cuda:
            torch.cuda.current_stream(self._where).synchronize()
        return [host.numpy() for host in found]

    def index(self, index: Ints | None) -> Any:
        """Copy row numbers to the device."""
        return None if index is None else self.to(np.asarray(index, dtype=np.int32))

    # -- scans -------------------------------------------------------------------------------------

    def scan(
        self,
        by: Map,
        left: HeldRows,
        I: Ints | None,
        right: HeldRows,
        J: Ints | None,
        coef: Floats,
        double: bool,
    ) -> Floats:
        """Return K[I, J] @ coef for each line of `coef`; raise MemoryError if memory is short."""
        height = left.rows if I is None else len(I)
        if height == 0 or coef.shape[1] == 0:
            return np.zeros((len(coef), height))
        double = double or left.high is None
        self._announce(by.kind, by.degree, left.width, double, min(2, len(coef)))
        try:
            rows, vectors, lines = self.index(I), self.index(J), self.to(coef)
            sums = [
                self.parts(by, left, rows, right, vectors, some, double).sum(0)
                for some in lines.split(1 if double else 2)
            ]
            found: Floats = self.fetch(sums[0] if len(sums) == 1 else torch.cat(sums))
        except torch.OutOfMemoryError as error:
            raise MemoryError(str(error)) from error
        return found.reshape(len(coef), height)

    def parts(
        self, by: Map, left: HeldRows, I: Any, right: HeldRows, J: Any, coef: Any, double: bool
    ) -> Any:
        """Return partial sums of a scan on the device, for indices and coefficients there."""
        height, coef = left.rows if I is None else len(I), coef.contiguous()
        if double or left.high is None:
            return self._double(by, left, I, right, J, coef, height)
        scan, out = self.half_scan(by, left, I, right, J, coef.to(torch.float32), height)
        scan()
        return out

    def work(
        self, by: Map, held: HeldRows, rows: Ints, variables: Variables, near: float, double: bool
    ) -> CudaWork:
        """Return a working set of held rows."""
        self._announce("steps", by.kind, by.degree, held.width, double)
        return CudaWork.of(self, by, held, rows, variables, near, double)

    def growing(self, work: CudaWork) -> GrowingWork:
        """Return a working set of all rows as one that begins with some of them, and grows."""
        return GrowingWork(work)

    def batch(
        self,
        by: Map,
        held: HeldRows,
        rows: Ints,
        sizes: Ints,
        variables: Variables,
        near: float,
        width: int,
    ) -> CudaBatch:
        """Return problems on held rows."""
        self._announce("batch", by.kind, by.degree, held.width)
        return CudaBatch.of(self, by, held, rows, sizes, variables, near, width)

    def _announce(self, *program: Any) -> None:
        """Log that a program may have to be compiled. Sets: compiled."""
        if program not in self._compiled:
            self._compiled.add(program)
            log.info(
                "first scan of this kind on %s: Triton compiles it in some seconds, unless a "
                "process did before",
                self.name,
            )

    def half_scan(
        self, by: Map, left: HeldRows, I: Any, right: HeldRows, J: Any, coef: Any, height: int
    ) -> tuple[Launch, Any]:
        """Return a scan with products of halves, and the sums that it sets.

        `coef` has one or two lines of float32. The scan may be repeated when its values change.
        """
        lines, width = coef.shape
        blocks, length, parts = _divided(height, width, _VECTORS, self._units)
        out = torch.empty((parts, lines, height), dtype=torch.float64, device=self._where)
        scan = programs.scan_halves.launch(
            (blocks, parts),
            (),
            left.high,
            left.low,
            left.short_norm,
            right.high,
            right.low,
            right.short_norm,
            left.short_norm if I is None else I,
            left.short_norm if J is None else J,
            coef,
            out,
            2.0 ** -(left.shift + right.shift),
            by.start,
            height,
            width,
            length,
            min(_SHORT, 1 << (length // _VECTORS).bit_length() - 1),
            BY_I=I is not None,
            BY_J=J is not None,
            D=left.width,
            CHUNK=min(left.width, _MOST_COLUMNS),
            BM=_ROWS,
            BN=_VECTORS,
            LINES=lines,
            MAP=programs.KINDS.index(by.kind),
            DEGREE=by.degree,
            num_stages=3,
            **_OPTIONS,
        )
        return scan, out

    def _double(
        self, by: Map, left: HeldRows, I: Any, right: HeldRows, J: Any, coef: Any, height: int
    ) -> Any:
        """Scan in float64, for one line of coefficients."""
        width = coef.shape[1]
        blocks, length, parts = _divided(height, width, LANES, self._units)
        out = torch.empty((parts, height), dtype=torch.float64, device=self._where)
        index = (left.norm if I is None else I, left.norm if J is None else J)
        shape = {"BY_I": I is not None, "BY_J": J is not None, "D": left.width}
        shape |= {"BM": _ROWS, "BN": LANES, "MAP": programs.KINDS.index(by.kind)}
        if by.of_differences:
            programs.scan_differences[(blocks, parts)](
                left.full, right.full, *index, coef, out, left.features, height, width, length,
                **shape, **_OPTIONS,
            )  # fmt: skip
            return out
        start = torch.full((1,), by.start, dtype=torch.float64, device=self._where)
        programs.scan_double[(blocks, parts)](
            left.full, left.norm, right.full, right.norm, *index, coef, out, start,
            height, width, length,
            **shape, CHUNK=min(left.width, _MOST_COLUMNS), DEGREE=by.degree, **_OPTIONS,
        )  # fmt: skip
        return out


def _bytes_of_pytorch(where: Any) -> tuple[int, int]:
    """Return the number of bytes that PyTorch has taken on a device, and of those in use."""
    stats = torch.cuda.memory_stats_as_nested_dict(where)
    held, used = (stats[name]["all"]["current"] for name in ("reserved_bytes", "allocated_bytes"))
    return int(held), int(used)


def padded(features: int) -> int:
    """Return the number of columns in memory: a power of two, or a multiple of the largest one."""
    if features > _MOST_COLUMNS:
        return _MOST_COLUMNS * ceil(features / _MOST_COLUMNS)
    return max(_LEAST_COLUMNS, 1 << max(0, features - 1).bit_length())


def _divided(height: int, width: int, chunk: int, units: int) -> tuple[int, int, int]:
    """Return the number of blocks of rows, the length of a part and the number of parts.

    A part is a multiple of `chunk` vectors; `units` is the number of multiprocessors.
    """
    blocks = ceil(height / _ROWS)
    wanted = max(1, _PROGRAMS_PER_UNIT * units // blocks)
    parts = max(1, min(MOST_PARTS, wanted, width // _LEAST_PART))
    length = chunk * ceil(width / (parts * chunk))
    return blocks, length, ceil(width / length)


def _copied(device: CudaDevice, values: Any, rows: slice) -> Any:
    """Return some rows as a tensor on the device."""
    if isinstance(values, TensorArray):
        return values.tensor[rows]
    part = values[rows]
    return device.to(part.toarray() if sparse.issparse(part) else part)


def _halves(full: Any, step: int, factor: float) -> tuple[Any, Any]:
    """Return the leading eleven digits of features, and the eleven that follow."""
    high, low = (torch.empty_like(full, dtype=torch.float16) for _ in range(2))
    for a in range(0, len(full), step):
        x = full[a : a + step] * factor
        high[a : a + step] = x
        low[a : a + step] = x - high[a : a + step].to(torch.float64)
    return high, low
