"""A working set in the memory of a GPU: blocks of pair steps, and Newton steps.

No kernel value is stored between two steps. The tile of a block, and the kernel values with which a
change updates the scores, are computed when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from widestreet._src.arrays import Floats, Ints
from widestreet._src.device import triton_kernels as scans
from widestreet._src.device import triton_steps as programs
from widestreet._src.device.contract import Look, Map, Variables

if TYPE_CHECKING:
    from widestreet._src.device.cuda import CudaDevice, HeldRows

_LINES = ("coef", "score", "target", "tube", "lower", "upper")
_BLOCK, _MOST_BLOCKS = 1024, 1024  # rows of a program that reads a list, and number of programs
_TILE = 32  # rows of a block of kernel values in float64
_LEAST_WIDTH = 64  # of the tile of a block
_ON_BOUND = 1e-12  # of a box: nearer coefficients are put on the bound
_POINTS, _RATIO = 16, 0.7  # of the arc of a Newton step


@contextmanager
def _within_memory() -> Iterator[None]:
    """Raise MemoryError where PyTorch says that the memory of the device is short."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise MemoryError(str(error)) from error


@dataclass(eq=False)
class CudaWork:
    """A working set on a GPU. Its methods raise MemoryError if memory is short.

    Attributes
    ----------
    device : CudaDevice
    by : Map
    held : HeldRows
    rows : tensor of int32
        Positions of its rows among those held.
    lines : tensor of float64, shape (6, m)
        Coefficients, scores, targets, tubes and bounds.
    near : float
    double : bool
    slots : tensor of int32
        The active rows.
    aside : list
        Rows that are not active, with all coefficients when they were set aside.
    """

    device: CudaDevice
    by: Map
    held: HeldRows
    rows: Any
    lines: Any
    near: float
    double: bool
    slots: Any
    aside: list[tuple[Any, Any]]
    seed: int = 0
    _kind: Any = None
    _ends: Any = None
    _places: Any = None
    _start: Any = None

    def __post_init__(self) -> None:
        self._start = torch.full((1,), self.by.start, dtype=torch.float64, device=self.rows.device)
        self._activate(self.slots)

    def _activate(self, slots: Any) -> None:
        """Set the active rows. Sets: slots, places, kind, ends."""
        self.slots = slots
        self._places = self.rows[slots]
        self._mark()

    @classmethod
    @_within_memory()
    def of(
        cls,
        device: CudaDevice,
        by: Map,
        held: HeldRows,
        rows: Ints,
        variables: Variables,
        near: float,
        double: bool,
    ) -> CudaWork:
        """Return a working set with a copy of some variables."""
        lines = device.to(np.stack([getattr(variables, name) for name in _LINES]))
        where = device.index(rows)
        slots = torch.arange(len(rows), dtype=torch.int32, device=lines.device)
        return cls(device, by, held, where, lines, near, double, slots, [])

    @property
    def active(self) -> int:
        return len(self.slots)

    @property
    def _coef(self) -> Any:
        return self.lines[0]

    def _new(self, *shape: int, dtype: Any = torch.float64) -> Any:
        return torch.empty(shape, dtype=dtype, device=self.lines.device)

    # -- the state of the rows -----------------------------------------------------------------

    @_within_memory()
    def look(self, steps: Any = None) -> Look:
        """Return the state of the active rows. Sets: kind, ends."""
        counts = self._mark()
        out = self._new(5)
        steps = torch.zeros(1, dtype=torch.float64, device=out.device) if steps is None else steps
        programs.pack[(1,)](
            steps, self._ends, counts[0], counts[1], out, counts.shape[1], _MOST_BLOCKS
        )
        taken, highest, lowest, free, violators = out.tolist()
        return Look(highest, lowest, int(free), int(violators), int(taken))

    def _mark(self) -> Any:
        """Return counts of free and of violating rows per program. Sets: kind, ends."""
        m = len(self.slots)
        count = ceil(m / _BLOCK)
        up, down, extremes = self._new(m), self._new(m), self._new(2, count)
        counts = self._new(2, count, dtype=torch.int32)
        self._kind, self._ends = self._new(m, dtype=torch.int8), self._new(2)
        programs.look[(count,)](
            self.slots, *self.lines, up, down, extremes[0], extremes[1], m, _BLOCK
        )
        programs.mark[(count,)](
            self.slots, self._coef, up, down, extremes[0], extremes[1], self._ends, self._kind,
            counts[0], counts[1], m, count, self.near, _BLOCK, _MOST_BLOCKS,
        )  # fmt: skip
        return counts

    def _add(self, slots: Any, columns: Any, change: Any, double: bool) -> None:
        """Update the scores of slots by changed coefficients. Sets: scores."""
        if len(slots) == 0 or len(columns) == 0:
            return
        rows = self._places if slots is self.slots else self.rows[slots]
        vectors = self.rows[columns.clamp(min=0)]
        parts = self.device.parts(
            self.by, self.held, rows, self.held, vectors, change[None], double
        )
        grid = (ceil(len(slots) / _BLOCK),)
        programs.add_parts[grid](parts, slots, self.lines[1], len(slots), len(parts), _BLOCK)

    def _tile(self, slots: Any, width: int, dtype: Any) -> Any:
        """Return the kernel values between slots, in lines of `width`."""
        n = len(slots)
        out = (torch.empty if n == width else torch.zeros)(
            (n, width), dtype=dtype, device=slots.device
        )
        grid = (ceil(n / _TILE), ceil(n / _TILE))
        programs.tile[grid](
            self.held.full, self.held.norm, self.rows, slots, out, self._start, n, width,
            D=self.held.width, CHUNK=min(self.held.width, 64), B=_TILE,
            MAP=scans.KINDS.index(self.by.kind), DEGREE=self.by.degree,
        )  # fmt: skip
        return out

    # -- pair steps ----------------------------------------------------------------------------

    @_within_memory()
    def pairs(
        self,
        size: int,
        chances: tuple[float, float],
        tol: float,
        part: float,
        most: int,
        blocks: int = 1,
    ) -> Look:
        """Take pair steps within blocks, one after the other. Sets: coefficients, scores."""
        steps = torch.zeros(1, dtype=torch.float64, device=self.rows.device)
        for k in range(blocks):
            if k:
                self._mark()
            block = self.slots if len(self.slots) <= size else self._drawn(size, *chances)
            self._block(block, tol, part, most, steps)
        return self.look(steps)

    def _block(self, block: Any, tol: float, part: float, most: int, steps: Any) -> None:
        """Take pair steps within a block. Sets: coefficients, scores, steps."""
        q = len(block)
        width = max(_LEAST_WIDTH, 1 << (q - 1).bit_length())
        tile = self._tile(block, width, torch.float32)
        change, now = self._new(q), self._new(4 * width)
        programs.pairs[(1,)](
            tile, block, *self.lines, self._ends, now, change, steps, q, tol, part, most, W=width,
            num_warps=4 if width <= 512 else 8 if width <= 1024 else 16,
        )  # fmt: skip
        self._add(self.slots, block, change, self.double)

    def _drawn(self, size: int, free: float, violating: float) -> Any:
        """Return random slots; -1 where there are fewer. Sets: seed."""
        m = len(self.slots)
        chosen = self._new(m, dtype=torch.int8)
        self.seed += 1
        programs.draw[(ceil(m / _BLOCK),)](
            self._kind, chosen, m, self.seed, free, violating, _BLOCK
        )
        at = torch.nonzero_static(chosen, size=size, fill_value=m).flatten()
        return torch.nn.functional.pad(self.slots, (0, 1), value=-1)[at]

    # -- Newton steps --------------------------------------------------------------------------

    @_within_memory()
    def newton(self, ridge: float, passes: int) -> Look:
        """Take a Newton step. Sets: coefficients, scores.

        It maximises F'd - d'(K + R)d / 2 where d sums to zero, in passes that fix what leaves its
        box and release what should not be fixed. They need not end. The best point of the arc
        clip(c + t d) is taken.
        """
        slots = self.slots[self._kind > 0]
        n = len(slots)
        out = self._new(5, n)
        programs.face[(ceil(n / _BLOCK),)](slots, *self.lines, self._ends, out, n, ridge, _BLOCK)
        c, low, high, f, r = out
        K = self._tile(slots, n, torch.float64)
        free = torch.arange(n, device=c.device)
        d, step, one, taken = torch.zeros_like(f), f, f, 0
        while taken < passes and len(free):
            taken += 1
            step, one, mu = _solved(K, r, f, free, d)
            d, now = _settled(step, K @ step, mu, f, r, low - c, high - c, free)
            if len(now) == len(free) and bool((now == free).all()):
                break
            free = now
        new = self._best(K, f, c, low, high, step, one)
        self._coef.index_copy_(0, slots.long(), new)
        self._add(self.slots, slots, new - c, self.double)
        return self.look(torch.full((1,), taken, dtype=torch.float64, device=c.device))

    def _best(self, K: Any, f: Any, c: Any, low: Any, high: Any, step: Any, one: Any) -> Any:
        """Return the point of the arc with the largest gain; the present one if none gains."""
        n = len(c)
        width = max(_LEAST_WIDTH, 1 << (n - 1).bit_length())
        points = self._new(_POINTS, n)
        programs.arc[(_POINTS,)](
            c.contiguous(), low.contiguous(), high.contiguous(), step.contiguous(),
            one.contiguous(), points, n, _RATIO, width, num_warps=4 if width <= 512 else 16,
        )  # fmt: skip
        points = torch.nan_to_num(points, nan=0.0)
        rise, bend = points @ f, ((points @ K) * points).sum(1)
        length = torch.where(bend > rise, rise / bend, 1.0)
        gain = torch.where(rise > 0, length * rise - 0.5 * length * length * bend, 0.0)
        k = torch.argmax(gain).view(1)
        new = c + (length[k] * points.index_select(0, k)[0])
        near = _ON_BOUND * (high - low)
        new = torch.where(new - low < near, low, torch.where(high - new < near, high, new))
        rest = (new - c).sum()
        room = torch.where(rest > 0, new - low, high - new)
        room = torch.where((new > low) & (new < high), room, 0.0)
        new = new.index_add(0, torch.argmax(room).view(1), -rest.view(1))
        useful = (gain.index_select(0, k)[0] > 0) & (room.max() > rest.abs())
        return torch.where(useful, new, c)

    # -- rows that are set aside ---------------------------------------------------------------

    @_within_memory()
    def set_aside(self, distance: float) -> Look:
        """Make rows that are farther than this from violating inactive. Sets: slots, aside."""
        slots = self.slots.long()
        coef, score, target, tube, low, high = self.lines[:, slots]
        f, middle = target - score, 0.5 * self._ends.sum()
        up = torch.where(coef < 0, f + tube, torch.where(coef < high, f, -torch.inf))
        down = torch.where(coef > 0, f, torch.where(coef > low, f + tube, torch.inf))
        stay = torch.maximum(up - middle, middle - down) > -distance
        self.aside.append((self.slots[~stay], self._coef.clone()))
        self._activate(self.slots[stay])
        return self.look()

    @_within_memory()
    def take_back(self) -> Look:
        """Make all rows active, with their present scores. Sets: slots, aside, scores."""
        self._bring_up_to_date()
        self._activate(torch.arange(len(self.rows), dtype=torch.int32, device=self.rows.device))
        return self.look()

    def _bring_up_to_date(self) -> None:
        """Update the scores of rows that were set aside. Sets: aside, scores."""
        for slots, before in self.aside:
            changed = torch.nonzero(self._coef != before).flatten()
            change = (self._coef - before)[changed]
            self._add(slots, changed.to(torch.int32), change, self.double)
        self.aside = []

    @_within_memory()
    def result(self) -> tuple[Floats, Floats]:
        """Return the coefficients and scores of all rows. Sets: aside, scores."""
        self._bring_up_to_date()
        coef, score = self.device.fetch(self.lines[:2])
        return coef, score


def _solved(K: Any, r: Any, f: Any, free: Any, d: Any) -> tuple[Any, Any, Any]:
    """Return the step whose other variables are fixed, its change with the sum, the multiplier."""
    fixed = d.index_fill(0, free, 0.0)
    H = K if len(free) == len(f) else K.index_select(0, free).index_select(1, free)
    H = H + torch.diag(r[free])
    right = torch.stack([(f - K @ fixed)[free], torch.ones_like(free, dtype=f.dtype)], 1)
    found = torch.cholesky_solve(right, torch.linalg.cholesky_ex(H)[0])
    mu = (found[:, 0].sum() + fixed.sum()) / found[:, 1].sum()
    step = fixed.index_copy(0, free, found[:, 0] - mu * found[:, 1])
    one = torch.zeros_like(f).index_copy(0, free, found[:, 1].clamp(min=0.0))
    return step, one, mu


def _settled(
    step: Any, product: Any, mu: Any, f: Any, r: Any, low: Any, high: Any, free: Any
) -> tuple[Any, Any]:
    """Return the step within its bounds, and the variables that are free in the next pass."""
    pull = f - product - mu - r * step
    held = torch.ones_like(f, dtype=torch.bool).index_fill(0, free, False)
    inside = ~held & (step >= low) & (step <= high)
    released = held & (((step == high) & (pull < 0)) | ((step == low) & (pull > 0)))
    clipped = torch.minimum(torch.maximum(step, low), high)
    return clipped, torch.nonzero(inside | released).flatten()
