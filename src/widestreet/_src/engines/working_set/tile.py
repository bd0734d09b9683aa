"""The working set: rows whose kernel values (the tile) are stored, and the dual restricted to them.

Rows occupy slots 0..size-1. A row that leaves frees its slot, and a new row takes it. Only the tile
rows and columns of new rows are computed; other kernel values are kept between rounds.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from widestreet import _core
from widestreet._src.arrays import Bools, Bytes, Floats, Ints, Real
from widestreet._src.engines.working_set.tile_memory import ROUND_TO, LentTiles, TileMemory
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual
from widestreet._src.shards.columns import Columns
from widestreet._src.shards.shard import Candidates

# Pair steps times rows of a block in one native call: some tenths of a second.
_CALL_WORK = 4e8
_ROOMS = (2048, 4096, 8192, 12_288)  # lengths of arrays, as far as rows may enter
_AHEAD = 2.0  # length of longer arrays that grow, relative to the length needed
_NO_LIMIT = 1 << 62  # bytes
_COPY_BYTES = 1 << 26  # of a tile, copied at a time when it grows

Scalar = TypeVar("Scalar", bound=np.generic)


def _grown(array: NDArray[Scalar], length: int) -> NDArray[Scalar]:
    """Return a copy whose last axis has the given length, padded with zeros."""
    bigger: NDArray[Scalar] = np.zeros((*array.shape[:-1], length), dtype=array.dtype)
    bigger[..., : array.shape[-1]] = array
    return bigger


def tiles_memory(capacity: int) -> int:
    """Return twice the bytes of a float64 tile: for the tile, and for copies and factors of it."""
    return 16 * (capacity + ROUND_TO) ** 2


class Scratch:
    """Memory that is used again: the first access to new memory is expensive."""

    def __init__(self) -> None:
        self.memory: Bytes = np.empty(0, dtype=np.uint8)

    def lend(self, size: int) -> Bytes:
        """Return at least `size` bytes. Sets: memory."""
        if len(self.memory) < size:
            self.free()  # before new memory is allocated
            self.memory = np.empty(size, dtype=np.uint8)
        return self.memory

    def free(self) -> None:
        """Free the memory. Sets: memory."""
        self.memory = np.empty(0, dtype=np.uint8)


class WorkingSet:
    """Working set of at most `capacity` rows, with their variables and their tile.

    Parameters
    ----------
    known : Columns or None
        Kernel values between the rows that may enter; None if no row enters or leaves.
    dual : Dual
    capacity : int
    threads : int
    memory : int, optional
        Memory limit in bytes of the tile and of copies and factors of it.
    poll : Poll, optional
    stored : bool
        False if a device computes kernel values when it needs them. There is no tile then.
    tiles : TileMemory, optional
        Memory that is kept for the tiles of several fits.

    Attributes
    ----------
    size : int
        Number of rows. The arrays below may be longer; `present` is the slice in use.
    ids : ndarray
        Number of each row among the rows of all shards.
    entered : ndarray
        Number of the admission with which each row entered.
    target, lower, upper, group, beta : ndarray of shape (layers, length)
    score : ndarray
    tile : ndarray of shape (length, length)
        Kernel values between the rows, float32 or float64.
    lent : LentTiles
        Memory of the tile, to be given back when nothing uses the set any more.
    rounded : ndarray or None
        The same values of a float64 tile in float32, for steps that rounding allows.
    """

    def __init__(
        self,
        known: Columns | None,
        dual: Dual,
        capacity: int,
        threads: int,
        memory: int = _NO_LIMIT,
        poll: Poll | None = None,
        stored: bool = True,
        tiles: TileMemory | None = None,
    ) -> None:
        self.known = known
        self.stored = stored
        self.poll = poll or Poll()
        self.capacity = capacity
        self._memory = memory
        self.threads = threads
        self.groups = dual.groups
        self.size = 0
        self.ids: Ints = np.zeros(0, dtype=np.int64)
        self.entered: Ints = np.zeros(0, dtype=np.int64)
        self.admissions = 0
        self.score: Floats = np.zeros(0)
        self.target: Floats = np.zeros((dual.layers, 0))
        self.lower: Floats = np.zeros((dual.layers, 0))
        self.upper: Floats = np.zeros((dual.layers, 0))
        self.beta: Floats = np.zeros((dual.layers, 0))
        self.group: Bytes = np.zeros((dual.layers, 0), dtype=np.uint8)
        self.tile: Real = np.zeros((0, 0), dtype=np.float32)
        self.rounded: Real | None = None
        self.lent = LentTiles(tiles or TileMemory())
        self._length = 0  # of arrays, as far as they are needed
        self.scratch = Scratch()  # for blocks of pair steps and factors

    @property
    def present(self) -> slice:
        return slice(0, self.size)

    @property
    def variables(self) -> _core.Variables:
        """Variables of the rows, as an object of the core."""
        return _core.Variables(
            self.target, self.lower, self.upper, self.group, groups=self.groups, rows=self.size
        )

    @property
    def double(self) -> bool:
        return self.tile.dtype == np.float64

    @property
    def spare(self) -> int:
        """Number of bytes of the memory limit that the tile does not use.

        The tile may be longer than needed, depending on which memory was kept. Only the length
        needed counts, so that kept memory changes no step.
        """
        length = min(self._length, len(self.tile))
        return max(0, self._memory - self.tile.itemsize * length**2)

    def _reserve(self, room: int) -> None:
        """Make room for at least `room` rows. Sets: all arrays, or none.

        Arrays grow in large steps, because the first access to new memory is expensive. Memory that
        is reserved but not accessed costs nothing.
        """
        if room <= self._length:
            return
        ahead = min((r for r in _ROOMS if r >= room), default=int(_AHEAD * room))
        length = max(room, min(self.capacity, ahead))
        length = -(-length // ROUND_TO) * ROUND_TO
        names = ("ids", "entered", "score", "target", "lower", "upper", "beta", "group")
        grown = {name: _grown(getattr(self, name), length) for name in names}

        def copy_to(tile: Real) -> None:
            step = max(1, _COPY_BYTES // max(1, self.size * tile.itemsize))
            for a in range(0, self.size, step):
                self.poll.look()
                end = min(a + step, self.size)
                _core.copy_rows(tile, self.tile, a, end, self.size, self.threads)

        if self.stored:
            self.scratch.free()
        if self.stored and length > len(self.tile):
            self.tile = self.lent.longer_tile(length, self.tile.dtype, copy_to)
        for name, array in grown.items():
            setattr(self, name, array)
        self._length = length

    def exchange(self, leaving: Bools, rows: Candidates | None = None) -> None:
        """Replace some rows by others, and compute the kernel values of the new ones.

        If an exception from `poll.look` ends it early, the others do not enter.
        Sets: all arrays.
        """
        gaps = np.flatnonzero(leaving)
        coming = 0 if rows is None else len(rows)
        if coming < len(gaps):
            self._close(gaps[coming:])
        if rows is None or coming == 0:
            return
        old = self.size
        gaps = gaps[:coming]
        new = old + coming - len(gaps)
        slots = np.concatenate([gaps, np.arange(old, new)])
        try:
            self._reserve(new)
            self.admissions += 1
            self.entered[slots] = self.admissions
            self.ids[slots], self.score[slots] = rows.ids, rows.score
            self.beta[:, slots] = rows.beta
            self.target[:, slots] = rows.variables.target
            self.lower[:, slots] = rows.variables.lower
            self.upper[:, slots] = rows.variables.upper
            self.group[:, slots] = rows.variables.group
            self.size = new
            self._compute(slots, new)
        except BaseException:
            self._close(slots[slots < self.size])
            raise

    def _compute(self, slots: Ints, size: int) -> None:
        """Compute the tile rows and columns of some slots of the first `size`. Sets: tile."""
        if not self.stored:
            return
        assert self.known is not None
        at = self.known.places(self.ids[:size])
        self.known.gram.block(at[slots], at, out=self.tile, out_rows=slots, poll=self.poll)
        _core.mirror(self.tile, size, slots, self.threads)

    def _close(self, gaps: Ints) -> None:
        """Fill gaps with rows from the last slots. Sets: all arrays."""
        size = self.size - len(gaps)
        empty = np.zeros(self.size, dtype=bool)
        empty[gaps] = True
        targets = gaps[gaps < size]
        movers = size + np.flatnonzero(~empty[size:])
        if len(targets):
            for array in (self.ids, self.entered, self.score):
                array[targets] = array[movers]
            for layered in (self.target, self.lower, self.upper, self.beta, self.group):
                layered[:, targets] = layered[:, movers]
            if self.stored:
                _core.relocate(self.tile, self.size, movers, targets, self.threads)
        self.size = size

    def use_double(self) -> None:
        """Compute the tile again in float64. Sets: tile.

        If an exception from `poll.look` ends it early, all rows leave.
        """
        length, size = self._length, self.size
        self.tile = np.empty((0, 0))  # free the old tile before the new one is allocated
        self.lent.give_back()
        if self.stored and length:
            self.tile = self.lent.tile(length, np.float64)
        if size:
            self.size = 0
            self._compute(np.arange(size), size)
            self.size = size

    def lend(self, size: int) -> Bytes:
        """Return scratch memory of at least `size` bytes, which is reused between calls."""
        return self.scratch.lend(size)

    def part(self, slots: Ints, dtype: type[np.floating[Any]]) -> Real:
        """Return the kernel values between some rows, in memory that the next solve overwrites."""
        n = len(slots)
        size = n * n * np.dtype(dtype).itemsize
        K: Real = self.lend(size)[:size].view(dtype).reshape(n, n)
        _core.gather(K, self.tile, self.size, slots, self.threads)
        return K

    def solve(
        self, tol: float, max_steps: int, block: int, direct_steps: int = 0
    ) -> tuple[float, int]:
        """Take pair steps until the violation within the set is at most `tol`.

        One call does a bounded amount of work: the caller repeats it while the violation is above
        `tol` and steps are left. An exception from `poll.look` ends it early; beta and score are
        consistent then. The first `direct_steps` are taken on all rows instead of a block, which is
        faster if few steps are needed.

        Returns
        -------
        violation : float
        steps : int

        Sets: beta and score.
        """
        steps = min(max_steps, max(64, int(_CALL_WORK / min(block, self.size))))
        if block < self.size or self.groups > 1:  # otherwise steps use the tile without a copy
            places = min(block, self.size) + self.groups * ROUND_TO
            self.lend(self.tile.itemsize * places**2)
        return _core.solve(
            self.tile,
            self.variables,
            self.beta,
            self.score,
            tol=tol,
            max_steps=steps,
            block=block,
            threads=self.threads,
            direct_steps=direct_steps,
            scratch=self.scratch.memory,
            poll=self.poll.look,
            rounded=self.rounded,
        )

    def indicator(self) -> Floats:
        """Return F = target - score of every variable."""
        f: Floats = self.target[:, self.present] - self.score[self.present]
        return f

    def may_grow(self) -> Bools:
        grow: Bools = self.beta[:, self.present] < self.upper[:, self.present]
        return grow

    def may_shrink(self) -> Bools:
        shrink: Bools = self.beta[:, self.present] > self.lower[:, self.present]
        return shrink

    def free(self) -> Bools:
        """Return the mask of variables strictly inside their box."""
        return self.may_grow() & self.may_shrink()

    def extremes(self) -> tuple[Floats, Floats]:
        """Return each group's largest F where beta may grow, and smallest where it may shrink."""
        return _core.extremes(self.variables, self.beta, self.score)

    def slack(self, bias: Floats) -> Floats:
        """Return the distance of each row from violating; negative for violators.

        If no variable of a group is free, every bias in an interval is optimal. The distance is
        then measured from the nearer end of the interval. It is zero for the rows that define it.
        """
        highest, lowest = self.extremes()
        open_ = np.isfinite(highest) & np.isfinite(lowest) & (highest < lowest)
        least, most = np.where(open_, highest, bias), np.where(open_, lowest, bias)
        return _core.slack(self.variables, self.beta, self.score, least, most)

    def coef(self) -> Floats:
        """Return the summed coefficient of each row."""
        total: Floats = self.beta[:, self.present].sum(axis=0)
        return total


def whole_set(
    tile: Real,
    dual: Dual,
    beta: Floats,
    score: Floats,
    poll: Poll | None = None,
    memory: int = _NO_LIMIT,
) -> WorkingSet:
    """Return a working set of all rows of a dual, with their kernel matrix.

    Solving it sets `beta` and `score`.
    """
    work = WorkingSet(None, dual, dual.rows, threads=1, memory=memory, poll=poll)
    work.size, work.ids, work.tile = dual.rows, np.arange(dual.rows), tile
    work._length = len(tile)
    work.target, work.lower, work.upper = dual.target, dual.lower, dual.upper
    work.group, work.beta, work.score = dual.group, beta, score
    return work
