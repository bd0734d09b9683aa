"""Launches of the programs of a block of pair steps, examined once for the same active rows.

A block is seven launches: draw and pick its rows, compute their tile, take pair steps, scan the
changes, look at all active rows and mark them. Only a few numbers differ from block to block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import torch

from widestreet._src.device import triton_kernels as scans
from widestreet._src.device import triton_steps as programs
from widestreet._src.device.contract import Map
from widestreet._src.device.launching import Launch

if TYPE_CHECKING:
    from widestreet._src.device.cuda import CudaDevice, HeldRows

BLOCK, MOST_BLOCKS = 1024, 1024  # rows of a program that reads a list, and number of programs
_TILE = 32  # rows of a block of kernel values in float64
LEAST_WIDTH = 64  # of the tile of a block

_Made = TypeVar("_Made")
_Drawing: TypeAlias = tuple[Launch, Launch, Any, Any]
_Stepping: TypeAlias = tuple[Launch, Launch, Any, Any]


def warps(width: int) -> int:
    """Return the number of warps that take pair steps in a tile of this width."""
    return 4 if width <= 256 else 8 if width <= 1024 else 16


@dataclass(eq=False)
class Standing:
    """Sides, extremes and kinds of the active rows, and how many of them a block gets per program.

    Arrays have room for all rows of the working set; the active ones come first.
    """

    up: Any
    down: Any
    ends: Any
    kind: Any
    extremes: Any
    counts: Any

    @classmethod
    def of(cls, m: int, where: Any) -> Standing:
        def new(*shape: int, dtype: Any = torch.float64) -> Any:
            return torch.empty(shape, dtype=dtype, device=where)

        most = MOST_BLOCKS
        counts = new(most, dtype=torch.int32)
        return cls(new(m), new(m), new(2), new(m, dtype=torch.int8), new(2, most), counts)


class Scratch:
    """Arrays for intermediate values on a device: the same one for each name and shape."""

    def __init__(self, where: Any) -> None:
        self._where = where
        self._arrays: dict[tuple[Any, ...], Any] = {}

    def __call__(self, name: str, *shape: int, dtype: Any = torch.float64) -> Any:
        """Return an array: of zeros, or with the values of its last use. Sets: arrays."""
        if (name, *shape) not in self._arrays:
            self._arrays[name, *shape] = torch.zeros(shape, dtype=dtype, device=self._where)
        return self._arrays[name, *shape]


@dataclass(frozen=True, eq=False)
class BlockLaunches:
    """Launches for some active rows of a working set; attributes are those of `CudaWork`.

    Attributes
    ----------
    near : float
    device : CudaDevice
    by : Map
    held : HeldRows
    rows, slots, places : tensor of int32
    each : tuple of tensors
    figures : tensor of float64
        Pair steps so far, both ends, numbers of free rows and of violators.
    start : tensor of float64
        What the map adds to inner products.
    standing : Standing
    scratch : Scratch
    """

    near: float
    device: CudaDevice
    by: Map
    held: HeldRows
    rows: Any
    slots: Any
    places: Any
    each: Any
    figures: Any
    start: Any
    standing: Standing
    scratch: Scratch
    _known: dict[Any, Any] = field(default_factory=dict)

    def _once(self, key: Any, make: Callable[..., _Made], *given: Any) -> _Made:
        """Return what `make` returned when the key was new. Sets: known."""
        found: _Made | None = self._known.get(key)
        if found is None:
            found = self._known[key] = make(*given)
        return found

    # -- all active rows -------------------------------------------------------------------------

    def look(self, parts: Any) -> Launch:
        """Return the launch that adds parts of a scan, or none, to the scores of the rows."""
        if parts is None:
            return self._once("look", self._look, None)
        # those of `scan` stay at their address, so that no others are there
        found: Launch | None = self._known.get(("look", parts.data_ptr()))
        return self._look(parts) if found is None else found

    def _look(self, parts: Any) -> Launch:
        m, stand = len(self.slots), self.standing
        (up, down), (top, bottom) = (stand.up, stand.down), stand.extremes
        count, several = (up, 0) if parts is None else (parts, len(parts))
        return programs.look.launch(
            (ceil(m / BLOCK),), (), self.slots, *self.each, count, up, down, top, bottom,
            self.figures, m, several, BLOCK,
        )  # fmt: skip

    def mark(self) -> Launch:
        """Return the launch that finds the kinds of the rows."""
        return self._once("mark", self._mark)

    def _mark(self) -> Launch:
        m, stand = len(self.slots), self.standing
        count, (top, bottom) = ceil(m / BLOCK), stand.extremes
        return programs.mark.launch(
            (count,), (), self.slots, self.each[0], stand.up, stand.down, top, bottom, stand.ends,
            stand.kind, self.figures, m, count, self.near, BLOCK, MOST_BLOCKS,
        )  # fmt: skip

    # -- a block ---------------------------------------------------------------------------------

    def drawn(self, size: int) -> _Drawing:
        """Return two launches that draw and pick a block of this size, its slots and its rows.

        Both are called with a seed, and the chances of free rows and of violators.
        """
        return self._once(("draw", size), self._drawn, size)

    def _drawn(self, size: int) -> _Drawing:
        m, stand = len(self.slots), self.standing
        assert size <= m
        block, vectors = (self.scratch(name, size, dtype=torch.int32) for name in ("slots", "rows"))
        count, changing = ceil(m / BLOCK), ("seed", "free", "violating")
        draw = programs.draw.launch(
            (count,), changing, stand.kind, stand.counts, m, 0, 0.0, 0.0, BLOCK
        )
        pick = programs.pick.launch(
            (count,), changing, stand.kind, stand.counts, self.slots, self.rows, block, vectors, m,
            size, count, 0, 0.0, 0.0, BLOCK, MOST_BLOCKS,
        )  # fmt: skip
        return draw, pick, block, vectors

    def tile(self, slots: Any, out: Any) -> Launch:
        """Return the launch that writes kernel values between slots, and zeros after them."""
        n, width = len(slots), out.shape[1]
        return programs.tile.launch(
            (ceil(n / _TILE), ceil(width / _TILE)), (), self.held.full, self.held.norm, self.rows,
            slots, out, self.start, n, width,
            D=self.held.width, CHUNK=min(self.held.width, 64), B=_TILE,
            MAP=scans.KINDS.index(self.by.kind), DEGREE=self.by.degree,
        )  # fmt: skip

    def steps(self, block: Any) -> _Stepping:
        """Return launches of tile and pair steps, and the changes in float64 and in float32.

        Pair steps are called with the violation that ends them, as a number and as a part of the
        first one, and with the largest number of steps. Blocks of one size have the same slots.
        """
        return self._once(("steps", len(block)), self._steps, block)

    def _steps(self, block: Any) -> _Stepping:
        q = len(block)
        width = max(LEAST_WIDTH, 1 << (q - 1).bit_length())
        tile = self.scratch("tile", width, width, dtype=torch.float32)
        now, f = self.scratch("now", 4, width), self.scratch("F", width, dtype=torch.float32)
        change = self.scratch("change", q)
        short = self.scratch("short change", q, dtype=torch.float32)
        pairs = programs.pairs.launch(
            (1,), ("tol", "part", "most"), tile, block, *self.each, self.standing.ends, now, f,
            change, short, self.figures, q, 0.0, 0.0, 0, W=width, num_warps=warps(width),
        )  # fmt: skip
        return self.tile(block, tile), pairs, change, short

    def scan(self, vectors: Any, short: Any) -> tuple[Launch, Any]:
        """Return the launch that scans the changes of a block, and its parts."""
        return self._once(("scan", len(short)), self._scan, vectors, short)

    def _scan(self, vectors: Any, short: Any) -> tuple[Launch, Any]:
        scan, parts = self.device.half_scan(
            self.by, self.held, self.places, self.held, vectors, short[None], len(self.places)
        )
        self._known["look", parts.data_ptr()] = self._look(parts)
        return scan, parts
