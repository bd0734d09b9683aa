"""Memory of a search: what is stored, and how many tasks are solved before they are reported."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from widestreet._src.engines.working_set.tile_memory import TileMemory
from widestreet._src.kernels.kernels import RBF, Kernel
from widestreet._src.problems.dual import Dual
from widestreet._src.training.memory_of_fit import least_memory_of
from widestreet._src.training.settings import Settings
from widestreet._src.tuning.chain import working_memory
from widestreet._src.tuning.kernel_values import TOGETHER
from widestreet._src.tuning.matrices import MANY_COLUMNS, matrix_memory
from widestreet._src.tuning.near_rows import LEAST_FOLDS, is_plain, memory_of_arrays
from widestreet._src.tuning.tasks import SearchData, Task

_BYTES_OF_VARIABLE = 64  # of a problem, given twice to the core, and of its solution
_STORED_ROWS = 10_000  # with more, problems over the rows near the margin take less time
ARRAYS_SHARE = 0.25  # of the memory: if arrays of folds are larger, the engine solves each fold
_POINTS_SHARE = 0.25  # of the memory, for problems and solutions beside the engine
_TILES_SHARE = 0.2  # of the memory that they leave, for tiles between the problems of the engine


@dataclass(frozen=True, eq=False)
class MemoryOfSearch:
    """Memory of a search.

    Attributes
    ----------
    data : SearchData
    tasks : sequence of Task
    settings : Settings
        `max_memory` bounds kernel matrices, blocks of pair steps, weights of folds, and problems
        with their solutions. What is reported comes on top.
    near : bool
        Whether problems may be solved over the rows near the margin.
    """

    data: SearchData
    tasks: Sequence[Task]
    settings: Settings
    near: bool = True

    @cached_property
    def shares_distances(self) -> bool:
        """True if RBF kernels with different gamma are computed from the same squared distances."""
        widths = {task.kernel for task in self.tasks if isinstance(task.kernel, RBF)}
        many = len(widths) > 1 and self.data.X.shape[1] > MANY_COLUMNS
        return many and self.fits(2)

    @cached_property
    def at_once(self) -> int:
        """Number of kernels whose problems are solved at the same time, to keep threads busy."""
        several = self.settings.threads > 1 and self.stores
        return 2 if several and self.fits(3 if self.shares_distances else 2) else 1

    @cached_property
    def stores(self) -> bool:
        """True if kernel matrices of all rows are stored."""
        return self.fits(1) and not (self.near and self._near_rows_are_faster)

    @cached_property
    def keeps_rounded(self) -> bool:
        """True if stored matrices have a copy in float32, from which large problems gain."""
        large = len(self.data.merged.kept) > TOGETHER and not self._several_pairs
        return large and self.fits(self.at_once + self.shares_distances, rounded=True)

    @property
    def _near_rows_are_faster(self) -> bool:
        """True for many rows, enough folds and arrays of folds that fit."""
        if self.largest_pair <= _STORED_ROWS:
            return False
        folds: dict[Kernel, set[int]] = defaultdict(set)
        for task in self.tasks:
            folds[task.kernel].add(id(task.fold))
        counts, dual = [len(mine) for mine in folds.values()], self._two_rows
        arrays = memory_of_arrays(self.largest_pair, dual.layers, max(counts))
        few = arrays <= ARRAYS_SHARE * self.settings.max_memory
        return few and is_plain(dual) and min(counts) >= LEAST_FOLDS

    def fits(self, matrices: int, *, rounded: bool = False) -> bool:
        """Return whether the memory suffices for so many matrices of all rows.

        Each thread has a block of pair steps, the matrix of a pair if there are several, and the
        problems of a fold.
        """
        own = self._longest_chain * self.bytes_of_task
        return self.room_beside(matrices, rounded=rounded) >= self.settings.threads * own

    def room_beside(self, matrices: int, *, rounded: bool = False) -> int:
        """Return the bytes that matrices of all rows, blocks of threads and weights leave.

        If `rounded`, matrices have a copy in float32.
        """
        rows = len(self.data.merged.kept)
        own = working_memory(rows)
        if self._several_pairs:
            own = working_memory(self.largest_pair) + matrix_memory(self.largest_pair)
        need = matrices * matrix_memory(rows, rounded=rounded) + self.settings.threads * own
        return self.settings.max_memory - need - self._bytes_of_weights

    @cached_property
    def _bytes_of_weights(self) -> int:
        """Bytes of the weights of all rows in all folds."""
        return 8 * self.data.rows * len({id(task.fold) for task in self.tasks})

    @property
    def _several_pairs(self) -> bool:
        return self.data.classes is not None and len(self.data.classes) > 2

    @cached_property
    def _longest_chain(self) -> int:
        """Largest number of tasks of a kernel and a fold."""
        return max(Counter((task.kernel, id(task.fold)) for task in self.tasks).values())

    @cached_property
    def bytes_of_task(self) -> int:
        """Bytes of the problems and the solutions of a task."""
        rows, others = len(self.data.merged.kept), 0
        if self._several_pairs:
            assert self.data.classes is not None
            count = len(self.data.classes)
            rows, others = (count - 1) * rows, count * (count - 1) // 2 * rows
        return self._layers * _BYTES_OF_VARIABLE * rows + 8 * others

    @cached_property
    def _two_rows(self) -> Dual:
        """Dual of two rows, of the kind of all problems."""
        return self.tasks[0].formulation.dual(np.array([1.0, -1.0]), np.ones(2))

    @property
    def _layers(self) -> int:
        return self._two_rows.layers

    def portions(self, members: list[int]) -> list[list[int]]:
        """Return the tasks of a kernel in portions that are solved one after the other.

        The memory holds the problems and solutions of a portion. It has whole folds, from one
        value of C to the next, if kernel values are stored; otherwise all folds of some values.
        If that is too much, it has a part of them.
        """
        if self.stores:
            matrices = self.at_once + self.shares_distances
            room = self.room_beside(matrices, rounded=self.keeps_rounded) // self.at_once
            key = {k: id(self.tasks[k].fold) for k in members}
        else:
            room = self.room_for_points
            members = sorted(members, key=lambda k: self.tasks[k].place)
            key = {k: id(self.tasks[k].estimator) for k in members}
        groups: dict[int, list[int]] = defaultdict(list)
        for k in members:
            groups[key[k]].append(k)
        most, portions = max(1, room // self.bytes_of_task), [list[int]()]
        for group in groups.values():
            for piece in (group[k : k + most] for k in range(0, len(group), most)):
                if portions[-1] and len(portions[-1]) + len(piece) > most:
                    portions.append([])
                portions[-1] += piece
        return portions

    @property
    def room_for_points(self) -> int:
        """Bytes for problems and solutions if kernel values are not stored."""
        return int(_POINTS_SHARE * self.settings.max_memory)

    @cached_property
    def limits(self) -> Settings:
        """Settings of the engines, with the memory that problems and solutions leave."""
        if self.stores:
            return self.settings
        room = max(self._least, self._room_of_engines - self.tiles.limit)
        return replace(self.settings, max_memory=room)

    @cached_property
    def tiles(self) -> TileMemory:
        """Memory of tiles that is kept between problems; none if the engines need all memory."""
        kept = int(_TILES_SHARE * max(0, self._room_of_engines))
        return TileMemory(kept if self._room_of_engines - kept >= self._least else 0)

    @cached_property
    def _room_of_engines(self) -> int:
        """Bytes that problems and solutions leave."""
        most = max(Counter(task.kernel for task in self.tasks).values())
        used = min(self.room_for_points, most * self.bytes_of_task) + self._bytes_of_weights
        return self.settings.max_memory - used

    @cached_property
    def _least(self) -> int:
        """Bytes of the engines, at least."""
        rows, columns = len(self.data.merged.kept), self.data.X.shape[1]
        return min(self.settings.max_memory, least_memory_of(rows, self._layers, columns))

    @cached_property
    def largest_pair(self) -> int:
        """Largest number of distinct rows of a pair of classes, or of all rows."""
        if not self._several_pairs:
            return len(self.data.merged.kept)
        return int(np.sort(np.bincount(self.data.label))[-2:].sum())
