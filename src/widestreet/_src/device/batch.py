"""Working sets of many problems in the memory of a GPU, side by side.

A call of each program does its work for all problems, so that a round costs as many launches, and
as many transfers, as for one problem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from widestreet._src.arrays import Floats, Ints
from widestreet._src.device import triton_batch as programs
from widestreet._src.device import triton_kernels as scans
from widestreet._src.device.batch_contract import Extent, Standings
from widestreet._src.device.block_launches import warps
from widestreet._src.device.contract import LANES, Map, Variables
from widestreet._src.device.working import lines_of, within_memory

if TYPE_CHECKING:
    from widestreet._src.device.cuda import CudaDevice, HeldRows

_BLOCK = 1024  # rows of a program that reads a list
_TILE = 32  # rows of a block of kernel values in float64
_ROWS, _VECTORS = 64, 128  # of a block of kernel values in half precision
_SHORT = 8  # blocks whose float32 values are added up before they go to float64
_COLUMNS = 64  # of features that a program multiplies at a time


@dataclass(eq=False)
class _Blocks:
    """The blocks of all problems, for a width of at most that with which the arrays were made.

    Attributes
    ----------
    slots : tensor of int32
        Positions of their rows among those of all problems.
    sizes, counts : tensor of int32
        Number of rows of each block, and of those whose coefficients changed.
    tile : tensor of float32
    now, F : tensor
        Coefficients with their bounds, and F.
    vectors, change : tensor
        Held rows whose coefficients changed, and the changes.
    """

    slots: Any
    sizes: Any
    counts: Any
    tile: Any
    now: Any
    F: Any
    vectors: Any
    change: Any

    @classmethod
    def of(cls, problems: int, width: int, where: Any) -> _Blocks:
        def new(*shape: int, dtype: Any) -> Any:
            return torch.zeros(shape, dtype=dtype, device=where)  # numbers in empty places

        rows = problems * width
        return cls(
            slots=new(rows, dtype=torch.int32),
            sizes=new(problems, dtype=torch.int32),
            counts=new(problems, dtype=torch.int32),
            tile=new(rows * width, dtype=torch.float32),
            now=new(4 * rows, dtype=torch.float64),
            F=new(rows, dtype=torch.float32),
            vectors=new(rows, dtype=torch.int32),
            change=new(rows, dtype=torch.float32),
        )


@dataclass(eq=False)
class CudaBatch:
    """Problems on a GPU. Its methods raise MemoryError if memory is short.

    Attributes
    ----------
    device : CudaDevice
    by : Map
    held : HeldRows
    rows : tensor of int32
        Positions of the rows of all problems among those held.
    begin : tensor of int32, shape (problems + 1,)
        Where the rows of each problem begin, and the end of all.
    most : int
        Number of rows of the largest problem.
    lines : tensor of float64, shape (6, n) or (6, n + 1)
        Coefficients, scores, targets, tubes and bounds.
    near : float
    width : int
        Largest number of rows of a block.
    """

    device: CudaDevice
    by: Map
    held: HeldRows
    rows: Any
    begin: Any
    most: int
    lines: Any
    near: float
    width: int
    seed: int = 0
    _current: bool = True  # whether the scores are those of the coefficients
    _each: Any = field(init=False)
    _figures: Any = field(init=False)
    _kind: Any = field(init=False)
    _ends: Any = field(init=False)
    _drawn: Any = field(init=False)
    _start: Any = field(init=False)
    _blocks: _Blocks = field(init=False)
    _first: dict[int, Any] = field(default_factory=dict)

    @classmethod
    @within_memory()
    def of(
        cls,
        device: CudaDevice,
        by: Map,
        held: HeldRows,
        rows: Ints,
        sizes: Ints,
        variables: Variables,
        near: float,
        width: int,
    ) -> CudaBatch:
        """Return problems with a copy of their variables."""
        where = device.index(rows)
        begin = device.index(np.concatenate([[0], np.cumsum(sizes)]))
        lines = lines_of(device, variables, len(rows), where.device)
        return cls(device, by, held, where, begin, int(sizes.max()), lines, near, width)

    def __post_init__(self) -> None:
        where, problems, programs_of = self.rows.device, self.problems, self._grid(_BLOCK)[0]
        self._each = self.lines.unbind()
        shape = (problems, programs.FIGURES)
        self._figures = torch.zeros(shape, dtype=torch.float64, device=where)
        self._kind = torch.empty(len(self.rows), dtype=torch.int8, device=where)
        self._ends = torch.empty((2, problems, programs_of), dtype=torch.float64, device=where)
        self._drawn = torch.empty((problems, programs_of), dtype=torch.int32, device=where)
        self._start = torch.full((1,), self.by.start, dtype=torch.float64, device=where)
        self._blocks = _Blocks.of(problems, self.width, where)

    @property
    def problems(self) -> int:
        return len(self.begin) - 1

    def _grid(self, rows: int) -> tuple[int, int]:
        """Return the grid of programs of so many rows each."""
        return ceil(self.most / rows), self.problems

    @property
    def _shape(self) -> dict[str, int]:
        """Return constants of programs that compute kernel values."""
        width = self.held.width
        shape = {"D": width, "CHUNK": min(width, _COLUMNS), "DEGREE": self.by.degree}
        return shape | {"MAP": scans.KINDS.index(self.by.kind)}

    # -- the state of the rows -----------------------------------------------------------------

    @within_memory()
    def look(self) -> Standings:
        """Return the state of all problems. Sets: kind, figures."""
        grid, (top, bottom) = self._grid(_BLOCK), self._ends
        most = 1 << (grid[0] - 1).bit_length()
        programs.look[grid](self.begin, *self._each, top, bottom, self._figures, _BLOCK)
        programs.mark[grid](
            self.begin, *self._each, top, bottom, self._kind, self._figures, self.near, _BLOCK, most
        )
        steps, highest, lowest, free, above, below, _, values = self._figures.cpu().numpy().T.copy()
        return Standings(steps, highest, lowest, free, above + below, values)

    # -- pair steps ----------------------------------------------------------------------------

    @within_memory()
    def pairs(self, width: int, to: Extent) -> Standings:
        """Take pair steps in one block of each problem that is not solved.

        Sets: coefficients, scores, kind, figures, seed.
        """
        blocks = self._blocks
        self._draw(width, to.goal)
        side = width // _TILE
        programs.tiles[(side, side, self.problems)](
            self.held.full, self.held.norm, self.rows, blocks.slots, blocks.sizes, blocks.tile,
            self._start, W=width, B=_TILE, **self._shape,
        )  # fmt: skip
        self._current = False
        programs.pair_steps[(self.problems,)](
            blocks.tile, self.begin, blocks.slots, self.rows, *self._each, blocks.now, blocks.F,
            blocks.vectors, blocks.change, blocks.counts, self._figures, to.goal, to.part,
            to.part_of_all, to.most, to.limit, W=width, num_warps=warps(width),
        )  # fmt: skip
        programs.add_scan[self._grid(_ROWS)](
            self.held.high, self.held.low, self.held.short_norm, self.begin, self.rows,
            self._each[1], blocks.vectors, blocks.change, self._first_of(width), blocks.counts,
            2.0 ** (-2 * self.held.shift), self.by.start, _SHORT, BM=_ROWS, BN=_VECTORS,
            num_warps=4, num_stages=3, **self._shape,
        )  # fmt: skip
        self._current = True
        return self.look()

    def _draw(self, width: int, goal: float) -> None:
        """Draw a block of each problem that is not solved. Sets: blocks, seed."""
        grid = self._grid(_BLOCK)
        most = 1 << (grid[0] - 1).bit_length()
        self.seed += 1
        programs.draw[grid](
            self.begin, self._kind, self._figures, self._drawn, self.seed, goal, _BLOCK, width
        )
        programs.pick[grid](
            self.begin, self._kind, self._figures, self._drawn, self._blocks.slots,
            self._blocks.sizes, self.seed, goal, _BLOCK, width, most,
        )  # fmt: skip

    def _first_of(self, width: int) -> Any:
        """Return where the changes of each problem begin. Sets: the array for a width."""
        if width not in self._first:
            first = torch.arange(self.problems, dtype=torch.int32, device=self.rows.device)
            self._first[width] = first * width
        return self._first[width]

    # -- scores --------------------------------------------------------------------------------

    @within_memory()
    def refresh(self) -> Standings:
        """Compute the scores of all rows in float64. Sets: scores, kind, figures."""
        self._score()
        return self.look()

    def _score(self) -> None:
        """Compute the scores of all rows in float64. Sets: scores."""
        some = torch.nonzero(self._each[0][: len(self.rows)]).flatten()
        ends = torch.searchsorted(some, self.begin.long()).to(torch.int32)
        counts = ends.diff()
        programs.scan[self._grid(_ROWS)](
            self.held.full, self.held.norm, self.begin, self.rows, self._each[1], self.rows[some],
            self._each[0][some], ends, counts, self._start, BM=_ROWS, BN=LANES, num_warps=4,
            **self._shape,
        )  # fmt: skip
        sizes = self.begin.diff()
        self._figures[:, -1] += counts.double() * sizes.double()
        self._current = True

    @within_memory()
    def result(self) -> tuple[Floats, Floats]:
        """Return the coefficients and scores of all rows. Sets: scores, if they are not current."""
        if not self._current:
            self._score()
        coef, score = self.device.fetch(self.lines[:2, : len(self.rows)])
        return coef, score
