"""A working set in the memory of a GPU: blocks of pair steps, there or on the host; Newton steps.

No kernel value is stored between two steps. The tile of a block, and the kernel values with which a
change updates the scores, are computed when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import torch

from widestreet._src.arrays import Floats, Ints
from widestreet._src.device import triton_steps as programs
from widestreet._src.device.block_launches import (
    BLOCK,
    LEAST_WIDTH,
    MOST_BLOCKS,
    BlockLaunches,
    Scratch,
    Standing,
)
from widestreet._src.device.contract import Block, Look, Map, Variables
from widestreet._src.device.newton import newton_step

if TYPE_CHECKING:
    from widestreet._src.device.cuda import CudaDevice, HeldRows

_LINES = ("coef", "score", "target", "tube", "lower", "upper")


def lines_of(device: CudaDevice, variables: Variables, n: int, where: Any) -> Any:
    """Return a copy of n variables on a device, with one column more if n is odd."""
    lines = torch.zeros((len(_LINES), n + n % 2), dtype=torch.float64, device=where)
    for line, name in zip(lines, _LINES, strict=True):
        values = getattr(variables, name)
        line[:n] = float(values[0]) if values.strides == (0,) else device.to(values)
    return lines


def _add_parts(parts: Any, slots: Any, score: Any) -> None:
    """Add the parts of a scan to the scores of slots. Sets: score."""
    grid = (ceil(len(slots) / BLOCK),)
    programs.add_parts[grid](parts, slots, score, len(slots), len(parts), BLOCK)


@contextmanager
def within_memory() -> Iterator[None]:
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
    lines : tensor of float64, shape (6, m) or (6, m + 1)
        Coefficients, scores, targets, tubes and bounds. All lines begin at multiples of 16 bytes:
        Triton compiles a program once for pointers that do, and once for those that do not.
    near : float
    double : bool
    slots : tensor of int32
        The active rows.
    members : tensor of int32
        The rows of the working set.
    aside : list
        Rows of it that are not active, with all coefficients when they were set aside.
    """

    device: CudaDevice
    by: Map
    held: HeldRows
    rows: Any
    lines: Any
    near: float
    double: bool
    slots: Any
    aside: list[tuple[Any, Any]] = field(default_factory=list)
    members: Any = None
    seed: int = 0
    places: Any = None
    each: Any = field(init=False)  # the lines one by one
    standing: Standing = field(init=False)
    _figures: Any = None  # pair steps so far, both ends, numbers of free rows and of violators
    _counted: int = 0  # pair steps until the last look
    _start: Any = None
    _parts: Any = None  # of a scan: the change of the scores of active rows, not added yet
    _block: Any = None  # slots of the last block for the host, until the next block
    _scratch: Scratch = field(init=False)
    _launches: BlockLaunches = field(init=False)  # for the active rows

    def __post_init__(self) -> None:
        self._start = torch.full((1,), self.by.start, dtype=torch.float64, device=self.rows.device)
        self.members, self.each = self.slots, self.lines.unbind()
        self._scratch = Scratch(self.rows.device)
        self._figures = torch.zeros(5, dtype=torch.float64, device=self.rows.device)
        self.standing = Standing.of(len(self.rows), self.rows.device)
        # a larger set grows from some of its rows
        self.activate(self.slots, mark=len(self.slots) <= BLOCK * MOST_BLOCKS)

    def activate(self, slots: Any, *, mark: bool = True) -> None:
        """Set the active rows. Sets: slots, places, standing."""
        self.slots, self.places = slots, self.rows[slots]
        self._launches = BlockLaunches(
            self.near, self.device, self.by, self.held, self.rows, self.slots, self.places,
            self.each, self._figures, self._start, self.standing, self._scratch,
        )  # fmt: skip
        if mark:
            self._mark()

    @classmethod
    @within_memory()
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
        n, where = len(rows), device.index(rows)
        lines = lines_of(device, variables, n, where.device)
        slots = torch.arange(n, dtype=torch.int32, device=where.device)
        return cls(device, by, held, where, lines, near, double, slots)

    @property
    def active(self) -> int:
        return len(self.slots)

    @property
    def coef(self) -> Any:
        return self.each[0]

    # -- the state of the rows -----------------------------------------------------------------

    @within_memory()
    def look(self) -> Look:
        """Return the state of the active rows, and the steps since the last look.

        Sets: scores, standing, figures.
        """
        self._mark()
        steps, highest, lowest, free, violators = self._figures.tolist()
        new, self._counted = int(steps) - self._counted, int(steps)
        return Look(highest, lowest, int(free), int(violators), new)

    def _mark(self) -> None:
        """Bring the scores of active rows up to date. Sets: scores, standing, figures."""
        self._launches.look(self._parts)()
        self._parts = None
        self._launches.mark()()

    def scan(self, rows: Any, vectors: Any, change: Any) -> Any:
        """Return the parts of the change of scores by changed coefficients."""
        change = change[None]
        return self.device.parts(self.by, self.held, rows, self.held, vectors, change, self.double)

    def _begin_update(self, slots: Any, vectors: Any, change: Any, short: Any = None) -> None:
        """Scan changes of coefficients, or these in float32; take them back after any exception.

        Sets: the parts of the scan; coefficients.
        """
        rounded = short is not None and not self.double and self.held.high is not None
        try:
            if rounded:
                scan, parts = self._launches.scan(vectors, short)
                scan()
            else:
                parts = self.scan(self.places, vectors, change)
            self._parts = parts
        except BaseException:
            coef, lower, upper = self.each[0], self.each[4], self.each[5]
            coef.index_add_(0, slots.clamp(min=0), -change)
            torch.clamp(coef, lower, upper, out=coef)  # rounding may lead out of the box
            raise

    def _tile(self, slots: Any, out: Any) -> Any:
        """Write the kernel values between slots into the lines of `out`, and zeros after them."""
        self._launches.tile(slots, out)()
        return out

    # -- pair steps ----------------------------------------------------------------------------

    @within_memory()
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
        for k in range(blocks):
            if k:
                self._mark()
            block, vectors = self.slots, self.places
            if len(block) > size:
                block, vectors = self._drawn(size, *chances)
            self._begin_update(block, vectors, *self._steps(block, tol, part, most))
        return self.look()

    def _steps(self, block: Any, tol: float, part: float, most: int) -> tuple[Any, Any]:
        """Take pair steps within a block; return the changes in float64 and in float32.

        Sets: coefficients, figures.
        """
        tile, pairs, change, short = self._launches.steps(block)
        tile()
        pairs(tol, part, most)
        return change, short

    def _drawn(self, size: int, free: float, violating: float) -> tuple[Any, Any]:
        """Return random slots, -1 where there are fewer, and their rows. Sets: seed."""
        draw, pick, block, vectors = self._launches.drawn(size)
        self.seed += 1
        draw(self.seed, free, violating)
        pick(self.seed, free, violating)
        return block, vectors

    # -- blocks for the host -------------------------------------------------------------------

    @within_memory()
    def draw(self, size: int, free: float, violating: float) -> Block:
        """Return random active rows and their tile, in one copy to the host. Sets: block, seed."""
        slots = self.slots if len(self.slots) <= size else self._drawn(size, free, violating)[0]
        self._block, n = slots, len(slots)
        width = LEAST_WIDTH * ceil(n / LEAST_WIDTH)
        dtype = torch.float64 if self.double else torch.float32
        tile = self._tile(slots, torch.empty((n, width), dtype=dtype, device=slots.device))
        lines = self.lines.index_select(1, slots.clamp(min=0))
        there, lines, tile = self.device.fetch_all(slots, lines, tile)
        rows = int((there >= 0).sum())
        found = dict(zip(_LINES, lines[:, :rows].copy(), strict=True))
        return Block(tile[:rows], Variables(**found))

    @within_memory()
    def move(self, at: Ints, coef: Floats) -> Look:
        """Set coefficients at some places of the last block. Sets: coefficients, scores."""
        n = len(at)
        if n:
            new = self.device.to(coef)
            change, vectors = torch.empty_like(new), torch.empty_like(new, dtype=torch.int32)
            programs.place[(ceil(n / BLOCK),)](
                self._block, self.device.index(at), new, self.rows, self.coef, change, vectors, n,
                BLOCK,
            )  # fmt: skip
            self._begin_update(self._block[self.device.index(at)], vectors, change)
        return self.look()

    # -- Newton steps --------------------------------------------------------------------------

    @within_memory()
    def newton(self, ridge: float, passes: int) -> Look:
        """Take a Newton step. Sets: coefficients, scores."""
        slots = self.slots[self.standing.kind[: len(self.slots)] > 0]
        n = len(slots)
        K = torch.empty((n, n), dtype=torch.float64, device=slots.device)
        change, taken = newton_step(
            self._tile(slots, K), slots, self.each, self.standing.ends, ridge, passes
        )
        self._begin_update(slots, self.rows[slots], change)
        return replace(self.look(), steps=taken)

    # -- rows that are set aside ---------------------------------------------------------------

    @within_memory()
    def set_aside(self, distance: float) -> Look:
        """Make rows that are farther than this from violating inactive. Sets: slots, aside."""
        m, stand = len(self.slots), self.standing
        middle = 0.5 * stand.ends.sum()
        stay = torch.maximum(stand.up[:m] - middle, middle - stand.down[:m]) > -distance
        self.aside.append((self.slots[~stay], self.coef.clone()))
        self.activate(self.slots[stay])
        return self.look()

    @within_memory()
    def take_back(self) -> Look:
        """Make the working set active, with present scores. Sets: slots, aside, scores."""
        self.bring_up_to_date(self.aside)
        self.activate(self.members)
        return self.look()

    def bring_up_to_date(self, groups: list[tuple[Any, Any]]) -> int:
        """Update the scores of rows that are not active; return the number of kernel values.

        Sets: scores; `groups`, which becomes empty.
        """
        values = 0
        if self._parts is not None:  # memory was short before a look
            _add_parts(self._parts, self.slots, self.each[1])
            self._parts = None
        while groups:
            slots, before = groups[-1]
            changed = torch.nonzero(self.coef != before).flatten()
            values += len(slots) * len(changed)
            parts = None
            if len(slots) * len(changed):
                change = (self.coef - before)[changed]
                parts = self.scan(self.rows[slots], self.rows[changed], change)
            groups.pop()
            if parts is not None:
                _add_parts(parts, slots, self.each[1])
        return values

    @within_memory()
    def result(self) -> tuple[Floats, Floats]:
        """Return the coefficients and scores of a set of all rows. Sets: aside, scores."""
        self.bring_up_to_date(self.aside)
        coef, score = self.device.fetch(self.lines[:2, : len(self.rows)])
        return coef, score
