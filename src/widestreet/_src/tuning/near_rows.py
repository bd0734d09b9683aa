"""Problems of one kernel over the rows near the margin, whose kernel values are stored.

A variable far from the margin is at the same bound in the solution of all rows and in those of all
folds. For many rows, then, for one C after the other:

    1) solve the problem of all rows by rounds of the engine, from its solution at the C before
    2) store the kernel matrix of the rows nearest to the margin; fix the others at their bounds
    3) solve the problems of all folds over the near rows, from the solution of all rows
    4) score all rows by all folds in one scan; rows that violate become near rows, and problems
       that are not solved by these scores are continued from them. The first scan may be in
       float32; a problem is solved by scores in float64

Scores of bounded coefficients are proportional to C. Those of the points where folds start are
kept, so that only coefficients that change from C to C are scanned, and then those that a fold has
moved. The mean of these scores over the folds shows which rows are near. What is not solved after
some passes, or has too many near rows, is solved by rounds of the engine. If more fixed rows
violate than are near, as with folds of ordered rows, all further problems of the kernel are left to
the engine, which solves each fold by ascending C.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Bools, Floats, Ints, Real
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.dual import Dual, select
from widestreet._src.problems.goal import Goal
from widestreet._src.shards.runner import LocalRunner
from widestreet._src.training.memory_of_fit import least_memory
from widestreet._src.tuning.chain import ChainPoint, Scratches, solve_next
from widestreet._src.tuning.kernel_values import Step, StreamedValues, Timed, most_pair_steps
from widestreet._src.tuning.similar_lines import scores_of_similar_lines

LEAST_FOLDS = 4  # fewer are not worth a solution of all rows for each C
_LEAST_ROWS = 1500  # near rows at first
_NEAR = 0.25  # near rows at first, per support vector
_ROUGH = 10.0  # times the tolerance: that of the problem of all rows
_MATRIX_SHARE, _BLOCK_SHARE = 0.7, 0.1  # of the memory beside arrays
_ARRAYS_OF_FOLD, _ARRAYS_OF_WHOLE = 8, 16  # of float64, and per layer; three of a fold are kept
_LOOSE = 8.0  # times the tolerance: that of the first pass
_LEAST_COMING = 1000  # rows that may become near in a pass; otherwise as many as are near
_KEPT = 0.5  # of the memory: a larger matrix is freed before the next problem of all rows
_PASSES = 8  # for one C
_FLOAT32_TOL = 1e-4  # smallest tolerance with kernel values of near rows in float32
_PROPORTIONAL = 1e-14  # of the largest coefficient: a smaller change is rounding
_FEW_CHANGED = 0.5  # of the support vectors: if more change, scores are left to the engine
_SAME = 1e-9  # of the largest coefficient: a smaller difference makes no row near
_INNER = 0.8  # of the tolerance: that of pair steps on such values
_AHEAD = 1.25  # room of a new matrix, per near row
_APART, _ROUND_TO, _STRIP = 16, 16, 1024  # values between rows of the matrix; rows at a time

Report = Callable[[int, int, Timed], None]


def precision(gram: Gram, tol: float) -> Any:
    """Return the precision of the kernel values of near rows for the smallest tolerance."""
    coarse = tol >= _FLOAT32_TOL and gram.fits_float32
    return np.float32 if coarse else np.float64


def memory_of_arrays(rows: int, layers: int, folds: int) -> int:
    """Return the bytes of arrays with one entry for each row, or for each row and fold."""
    return 8 * rows * (_ARRAYS_OF_FOLD * folds + _ARRAYS_OF_WHOLE * layers)


def is_plain(dual: Dual) -> bool:
    """Return whether the sum of all coefficients is zero."""
    return dual.groups == 1 and not dual.total.any()


def are_worthwhile(chains: Sequence[Sequence[Step]]) -> bool:
    """Return whether there are enough folds, and all sums of coefficients are zero."""
    steps = [step for chain in chains for step in chain]
    return len(chains) >= LEAST_FOLDS and all(is_plain(step.dual) for step in steps)


@dataclass(eq=False)
class _Fold:
    """Problems of a fold, and the last solution.

    Attributes
    ----------
    steps : sequence of Step
    coef, score : ndarray of shape (n,)
        Coefficients from which the last problem started, divided by C, and their scores.
    total : ndarray of shape (n,)
        Scores of all rows at the last point.
    point : ChainPoint
        Last point, over the near rows of its time; its score is that of all coefficients.
    seconds : float
        Time of the present problem.
    done : bool
        Whether the present problem is solved.
    possible : bool
        Whether the near rows can reach the required sum of the coefficients.
    """

    steps: Sequence[Step]
    coef: Floats
    score: Floats
    total: Floats
    point: ChainPoint = field(init=False)
    seconds: float = 0.0
    done: bool = False
    possible: bool = True


@dataclass(frozen=True, eq=False)
class _Whole:
    """Problem of the rows of all folds, and its solution."""

    dual: Dual
    point: ChainPoint

    @cached_property
    def at_upper(self) -> Bools:
        found: Bools = self.point.beta == self.dual.upper
        return found

    @cached_property
    def free(self) -> Bools:
        return (self.point.beta > self.dual.lower) & (self.point.beta < self.dual.upper)


class Memory:
    """Memory of the kernel matrix of near rows, which is kept for the next kernel.

    The first access to new memory is expensive. Rows of the matrix are therefore little longer than
    necessary, and a matrix that must grow is computed anew: that costs less than to touch rows of
    the greatest length.

    Parameters
    ----------
    limit : int
        Limit in bytes, of which the matrix takes a part.
    dtype : type
        Precision of the kernel values.

    Attributes
    ----------
    rows : int
        Number of rows of the largest matrix so far.
    """

    def __init__(self, limit: int, dtype: Any = np.float64) -> None:
        self.limit, self.rows, self.dtype = limit, 0, np.dtype(dtype)
        self.scratches = Scratches()
        self._values: Real | None = None

    def capacity(self, rows: int) -> int:
        """Return the largest number of near rows among so many."""
        return min(
            rows,
            int(np.sqrt(_MATRIX_SHARE * self.limit / self.dtype.itemsize)) - _APART - _ROUND_TO,
        )

    def rest(self, least: int) -> int:
        """Return the bytes that the engine may use beside what is kept.

        Sets: memory, freed if it is large, or leaves less than the engine needs at `least`.
        """
        if self._bytes > min(_KEPT * self.limit, self.limit - least):
            self.free()
        return self.limit - self._bytes

    @property
    def _bytes(self) -> int:
        matrix = 0 if self._values is None else self._values.strides[0] * self.rows
        return matrix + self.scratches.bytes

    def free(self) -> None:
        """Free the matrix and the memory of blocks. Sets: rows."""
        self._values, self.rows = None, 0
        self.scratches.free()

    def matrix(self, rows: int, capacity: int) -> Real:
        """Return the matrix, with room for so many rows; an empty one if it had less room."""
        if self._values is None or len(self._values) < rows:
            self._values, self.rows = None, 0
            room = min(capacity, int(_AHEAD * rows))
            length = -(-room // _ROUND_TO) * _ROUND_TO + _APART
            self._values = np.empty((room, length), dtype=self.dtype)
        return self._values


class NearRows:
    """Near rows of the problems of one kernel, and their kernel matrix.

    Parameters
    ----------
    values : StreamedValues
        Kernel values between all rows.
    chains : sequence of sequence of Step
        Problems over all rows: those of each fold, in the order of their solution.
    memory : Memory
    on_interrupt : callable
        It must make `values.budget` stop the other threads.

    Attributes
    ----------
    rows : ndarray
        Near rows.
    far : bool
        Whether the folds differ too much from all rows to be solved over near rows.
    """

    def __init__(
        self,
        values: StreamedValues,
        chains: Sequence[Sequence[Step]],
        memory: Memory,
        on_interrupt: Callable[[], None],
    ) -> None:
        self.values, self.chains, self.memory = values, chains, memory
        self.on_interrupt = on_interrupt
        self.poll = Poll(values.budget.look_at_clock)
        self.rows: Ints = np.empty(0, dtype=np.int64)
        self._matrix: Real | None = None
        self._filled = 0
        self._size = values.gram.shape[0]
        self._capacity = memory.capacity(self._size)
        self.far = False
        self._rest, self._rest_score = np.zeros((2, self._size))

    def solve(self, report: Report) -> None:
        """Solve all problems; call `report` with chain, position and solution of each."""
        zero, whole = np.zeros(self._size), None
        folds = [_Fold(chain, zero, zero, zero) for chain in self.chains]
        left: list[tuple[int, int, ChainPoint | None]] = []
        for k in range(max(map(len, self.chains))):
            begun = time.perf_counter()
            here = {c: fold for c, fold in enumerate(folds) if k < len(fold.steps)}
            if self.far:
                left += [(c, k, None) for c in here]
                continue
            whole = self._solve_whole([fold.steps[k] for fold in here.values()], whole)
            shared = (time.perf_counter() - begun) / len(here)
            self._solve_folds(list(here.values()), k)
            whole = self._whole.point
            for c, fold in here.items():
                point = self._spread(fold, fold.steps[k]) if fold.possible else None
                if point is not None and fold.done:
                    report(c, k, (point, fold.seconds + shared))
                else:
                    left.append((c, k, point))
        self._solve_by_engine(left, folds, whole, report)

    def _solve_by_engine(
        self,
        left: list[tuple[int, int, ChainPoint | None]],
        folds: list[_Fold],
        whole: ChainPoint | None,
        report: Report,
    ) -> None:
        """Solve the rest of the problems by rounds of the engine, several folds at a time.

        Pair steps of a round use one thread. Each chain starts from its last point over near rows,
        or else from that of all rows. Sets: matrix, memory; folds.
        """
        if not left:
            return
        self._matrix = None
        self.memory.free()  # the engine needs it
        dual, columns = self.chains[0][0].dual, self.values.gram.left.shape[1]
        chains = [
            list(mine) for _, mine in groupby(sorted(left, key=lambda one: one[:2]), itemgetter(0))
        ]
        room = self.memory.limit // least_memory(dual, columns)
        limited = most_pair_steps(self.values.gram, self._size) is not None
        side = 1 if limited else max(1, min(self.values.threads, len(chains), room))
        values = replace(self.values, threads=max(1, self.values.threads // side))
        memory = self.memory.limit // side

        def solve(chain: list[tuple[int, int, ChainPoint | None]]) -> None:
            last = whole
            for c, k, point in chain:
                begun, step = time.perf_counter(), self.chains[c][k]
                step = replace(step, settings=replace(step.settings, max_memory=memory))
                last = values.solve(step, last if point is None else point)
                if (c, k) != chain[-1][:2]:
                    last = replace(last, score=self._rescored(folds[c], last))
                report(c, k, (last, time.perf_counter() - begun))

        LocalRunner(side).map(solve, chains, self.on_interrupt)

    def _rescored(self, fold: _Fold, point: ChainPoint) -> Floats | None:
        """Return the scores of all rows at a solution of the engine; None if too many changed.

        Sets: coef and score of the fold.
        """
        new = point.beta.sum(axis=0) / point.scale
        change = new - fold.coef
        change[np.abs(change) <= _PROPORTIONAL * np.abs(new).max(initial=0.0)] = 0.0
        used = np.flatnonzero(change)
        if len(used) > _FEW_CHANGED * np.count_nonzero(new):
            return None
        more = self.values.gram.scan(None, used, change[used], near=True, poll=self.poll)
        fold.coef, fold.score = new, fold.score + more
        found: Floats = point.scale * fold.score
        return found

    # -- the problem of all rows -------------------------------------------------------------------

    def _solve_whole(self, steps: list[Step], before: ChainPoint | None) -> ChainPoint:
        """Solve the problem of the rows of all folds. Sets: whole."""
        first = steps[0]
        dual = replace(
            first.dual,
            lower=np.min([step.dual.lower for step in steps], axis=0),
            upper=np.max([step.dual.upper for step in steps], axis=0),
        )
        self._matrix = None  # so that the memory can be freed
        goal = Goal(_ROUGH * first.tol)
        least = least_memory(dual, self.values.gram.left.shape[1])
        settings = replace(first.settings, goal=goal, max_memory=self.memory.rest(least))
        point = self.values.solve(Step(dual, first.scale, settings), before)
        self._whole = _Whole(dual, point)
        return point

    def _start(self, step: Step) -> Floats:
        """Return the variables from which a problem starts: those of all rows, in its boxes.

        Variables at a bound are at the same bound of the other box.
        """
        dual, whole = step.dual, self._whole
        bound = np.where(whole.at_upper, dual.upper, dual.lower)
        moved = step.scale / whole.point.scale * whole.point.beta
        found: Floats = np.where(whole.free, np.clip(moved, dual.lower, dual.upper), bound)
        return found

    def _choose(self, folds: list[_Fold]) -> None:
        """Choose the rows nearest to the margin of the solution of all rows. Sets: rows, whole."""
        whole, dual = self._whole.point, self._whole.dual
        score = self._whole_score(folds)
        self._whole = _Whole(dual, whole := replace(whole, score=score))
        f = dual.indicator(score)
        distance = np.abs(f - whole.bias[0]).min(axis=0)
        free = self._whole.free.any(axis=0)
        distance[free] = 0.0
        distance[(dual.upper == dual.lower).all(axis=0)] = np.inf
        used = int(whole.beta.any(axis=0).sum())
        count = max(_LEAST_ROWS, int(free.sum()), int(_NEAR * used), len(self.rows))
        order = np.argsort(distance, kind="stable")[: min(count, self._capacity)]
        self.rows = np.sort(order[np.isfinite(distance[order])])
        self._filled = 0

    def _whole_score(self, folds: list[_Fold]) -> Floats:
        """Return the scores of the solution of all rows. Sets: the last scores of the rest.

        If each row is in all folds but one, they are those where the folds start, over the number
        of these folds. The rest is scanned in float32, as far as it is not proportional to C.
        """
        whole, times = self._whole.point, max(1, len(folds) - 1)
        together = np.sum([fold.coef for fold in folds], axis=0) / times
        rest = whole.beta.sum(axis=0) / whole.scale - together
        change = rest - self._rest
        change[np.abs(change) <= _SAME * np.abs(together).max(initial=0.0)] = 0.0
        used = np.flatnonzero(change)
        self._rest_score += self.values.gram.scan(
            None, used, change[used], dtype=np.float32, poll=self.poll
        )
        self._rest[used] = rest[used]
        score = np.sum([fold.score for fold in folds], axis=0) / times + self._rest_score
        found: Floats = whole.scale * score
        return found

    def _fill(self) -> None:
        """Compute the kernel values of new near rows. Sets: matrix, filled."""
        self._matrix = None  # so that one that is too small can be freed
        self._matrix = matrix = self.memory.matrix(len(self.rows), self._capacity)
        self._filled = min(self._filled, self.memory.rows)
        for a in range(self._filled, len(self.rows), _STRIP):
            strip = np.arange(a, min(a + _STRIP, len(self.rows)))
            end = int(strip[-1]) + 1
            self.values.gram.block(
                self.rows[strip], self.rows[:end], out=matrix, out_rows=strip, poll=self.poll
            )
            _core.mirror(matrix, end, strip, self.values.threads)
        self._filled = len(self.rows)
        self.memory.rows = max(self.memory.rows, self._filled)

    # -- problems over the near rows ---------------------------------------------------------------

    def _solve_folds(self, folds: list[_Fold], k: int) -> None:
        """Solve problem k of each fold from the solution of all rows. Sets: folds, rows."""
        self._score_starts(folds, k)
        self._choose(folds)
        for fold in folds:
            beta = self._start(fold.steps[k])[:, self.rows]
            fold.point = replace(self._whole.point, beta=beta, scale=fold.steps[k].scale)
            fold.done, fold.seconds, fold.possible = False, 0.0, True
        runner = LocalRunner(self.values.threads)
        for loose in [_LOOSE] + [1.0] * (_PASSES - 1):
            left = [fold for fold in folds if fold.possible and not fold.done]
            if self.far or not left or len(self.rows) > self._capacity:
                return
            self._fill()
            for fold in left:
                fold.possible = self._is_possible(fold.steps[k])
            left = [fold for fold in left if fold.possible]
            if not left:
                return
            runner.map(partial(self._solve, k=k, loose=loose), left, self.on_interrupt)
            self._check(left, k, rough=loose > 1.0 and self.memory.dtype == np.float32)

    def _score_starts(self, folds: list[_Fold], k: int) -> None:
        """Compute the scores where problem k of each fold starts. Sets: coef, score, total."""
        steps = [fold.steps[k] for fold in folds]
        wanted = [self._start(step).sum(axis=0) / step.scale for step in steps]
        change = np.array([new - fold.coef for new, fold in zip(wanted, folds, strict=True)])
        change[np.abs(change) <= _PROPORTIONAL * np.abs(wanted).max(initial=0.0)] = 0.0
        if change.any():
            more = scores_of_similar_lines(self.values.gram, change, self.poll)
            for fold, new, score in zip(folds, wanted, more, strict=True):
                fold.coef, fold.score = new, fold.score + score
        for fold, step in zip(folds, steps, strict=True):
            fold.total = step.scale * fold.score

    def _solve(self, fold: _Fold, k: int, loose: float) -> None:
        """Solve a problem over the near rows from the last point of the fold. Sets: fold."""
        begun, size, step = time.perf_counter(), len(self.rows), fold.steps[k]
        inner = _INNER if self.memory.dtype == np.float32 else 1.0
        before, known = fold.point, fold.point.beta.shape[1]
        before = replace(before, score=fold.total[self.rows])
        if known < size:
            new = self._start(step)[:, self.rows[known:]]
            before = replace(before, beta=np.hstack([before.beta, new]))
        assert self._matrix is not None
        with self.memory.scratches.one() as scratch:
            fold.point = solve_next(
                self._matrix[:size, :size],
                self._reduced(step),
                step.scale,
                loose * inner * step.tol,
                before,
                self.poll,
                most_pair_steps(self.values.gram, size),
                room=int(_BLOCK_SHARE * self.memory.limit) // self.values.threads,
                scratch=scratch,
            )
        fold.seconds += time.perf_counter() - begun

    def _is_possible(self, step: Step) -> bool:
        """Return whether the near rows can reach the required sum of the coefficients."""
        dual = self._reduced(step)
        return bool(dual.lower.sum() <= dual.total[0] <= dual.upper.sum())

    def _reduced(self, step: Step) -> Dual:
        """Return a problem over the near rows; the others add to their scores and to the sum."""
        fixed = self._start(step)
        fixed[:, self.rows] = 0.0
        dual = select(step.dual, self.rows)
        return replace(dual, total=dual.total - fixed.sum())

    def _check(self, folds: list[_Fold], k: int, *, rough: bool) -> None:
        """Judge solutions by all rows, in float32 if rough. Sets: done, total, point; rows, far."""
        lines = np.array(
            [
                (fold.point.beta - self._start(fold.steps[k])[:, self.rows]).sum(axis=0)
                for fold in folds
            ]
        )
        used = np.flatnonzero(lines.any(axis=0))
        near = np.ascontiguousarray(lines[:, used])
        dtype = np.float32 if rough else np.float64
        scores = self.values.gram.scan(
            None, self.rows[used], near, dtype=dtype, near=True, poll=self.poll
        )
        others = np.delete(np.arange(self._size), self.rows)
        excess = np.zeros(len(others))
        for fold, score in zip(folds, scores, strict=True):
            step = fold.steps[k]
            fold.total = step.scale * fold.score + score
            np.maximum(excess, self._judge(fold, step, others), out=excess)
            fold.done &= not rough
        worst = np.argsort(-excess, kind="stable")[: max(_LEAST_COMING, len(self.rows))]
        self.far = int((excess > 0).sum()) > max(_LEAST_COMING, len(self.rows))
        self.rows = np.concatenate([self.rows, others[np.sort(worst[excess[worst] > 0])]])

    def _judge(self, fold: _Fold, step: Step, others: Ints) -> Floats:
        """Return by how much fixed rows violate; not above zero where they do not.

        Sets: done, point.
        If an interval of biases is optimal, rows that shorten it count as well.
        """
        high, low = _ends(select(step.dual, self.rows), fold.total[self.rows], fold.point.beta)
        dual, beta = select(step.dual, others), self._start(step)[:, others]
        f = dual.indicator(fold.total[others])
        most, least = _ends(dual, fold.total[others], beta)
        most, least = max(high, most), min(low, least)
        violation = max(0.0, most - least)
        fold.point = replace(fold.point, violation=violation)
        fold.done = violation <= step.tol and (high >= low or (most == high and least == low))
        if fold.done or not np.isfinite([high, low]).all():
            return np.zeros(len(others))
        middle = 0.5 * (high + low)
        above = np.max(f, axis=0, where=beta < dual.upper, initial=-np.inf) - min(middle, high)
        below = max(middle, low) - np.min(f, axis=0, where=beta > dual.lower, initial=np.inf)
        found: Floats = np.maximum(above, below)
        return found

    def _spread(self, fold: _Fold, step: Step) -> ChainPoint:
        """Return the last point of a fold over all rows, with the best bias of their scores."""
        beta, size = self._start(step), fold.point.beta.shape[1]
        beta[:, self.rows[:size]] = fold.point.beta
        _, [bias] = _core.examine(
            step.dual.native(),
            beta,
            fold.total,
            end=np.array([self._size]),
            total=step.dual.total[None],
        )
        norm = float(beta.sum(axis=0) @ fold.total)
        return replace(fold.point, beta=beta, score=fold.total, bias=bias, norm=norm)


def _ends(dual: Dual, score: Floats, beta: Floats) -> tuple[float, float]:
    """Return the largest F where beta may grow, and the smallest where it may shrink."""
    f = dual.indicator(score)
    high = float(np.max(f, where=beta < dual.upper, initial=-np.inf))
    return high, float(np.min(f, where=beta > dual.lower, initial=np.inf))
