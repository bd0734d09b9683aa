"""Training on rows in blocks outside this process: on the workers of a cluster, or on disk.

A block holds some rows with their labels or targets and their weights. A recipe describes the
problem and makes a shard from a block. This happens where the block is, and again if the shard was
lost. The coordinator receives only the rows that an engine takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, Protocol, TypeVar

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.solution import Observer, Solution, Trace
from widestreet._src.kernels.kernels import Kernel
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.dual import select
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.problems.totals import Totals
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import Vectors
from widestreet._src.shards.columns import Features, HeardRows, TakenRows, joined
from widestreet._src.shards.point import Point
from widestreet._src.shards.port import Port
from widestreet._src.shards.runner import Runner
from widestreet._src.shards.shard import Shard
from widestreet._src.shards.shard_set import ShardSet
from widestreet._src.status import Status
from widestreet._src.threads import limited_blas
from widestreet._src.training.engine_sequence import Engines
from widestreet._src.training.examiner import Examiner
from widestreet._src.training.settings import Settings
from widestreet._src.training.trained import (
    Trained,
    continued,
    labelled,
    stopped_by,
    uncertified,
)

Answer = TypeVar("Answer")

_LEAST_PART = 0.1  # of `max_time`: less time left over is not worth another start
_GRACE = 10.0  # seconds that support vectors are waited for after the end of `max_time`


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that are stored together.

    Attributes
    ----------
    rows : Vectors
    target : ndarray
        Class indices, or targets of a regression; zeros for a one-class SVM.
    weight : ndarray
        Sample weights.
    origin : ndarray
        Numbers of the rows among those that the user passed.
    number : int
        Number of the block among all blocks.
    """

    rows: Vectors
    target: Any
    weight: Floats
    origin: Ints
    number: int

    def __len__(self) -> int:
        return len(self.weight)


@dataclass(frozen=True, eq=False)
class Recipe:
    """Description of the problem on the rows of all blocks.

    Attributes
    ----------
    kernel : Kernel
    formulation : DualFormulation
    longest : float
        Bound on |x|^2 of all rows, relative to their centre.
    class_weight : ndarray or None
        Weight of each class; None for targets that are not classes.
    pair : tuple of int
        The two classes of the problem, if there are classes.
    threads : int
        Threads of each shard.
    weight : float
        Sum of the weights of all rows of the problem.
    totals : Totals or None
        Sums over all rows of the problem; None until they are known.
    sizes : tuple of int
        Number of rows of the problem in each block. A block without such rows has no shard.
    """

    kernel: Kernel
    formulation: DualFormulation
    longest: float
    class_weight: Floats | None = None
    pair: tuple[int, int] = (0, 1)
    threads: int = 1
    weight: float = 0.0
    totals: Totals | None = None
    sizes: tuple[int, ...] = ()

    @property
    def present(self) -> list[int]:
        """Numbers of the blocks that have rows of this problem."""
        return [k for k, size in enumerate(self.sizes) if size]

    def _rows(self, block: Block) -> tuple[Ints, Floats, Floats]:
        """Return the rows of the problem in a block, their targets and their weights."""
        if self.class_weight is None:
            kept = np.flatnonzero(block.weight > 0)
            return kept, np.asarray(block.target[kept], dtype=np.float64), block.weight[kept]
        code = np.asarray(block.target)
        first, second = self.pair
        weighted = self.class_weight[code] * block.weight
        kept = np.flatnonzero(((code == first) | (code == second)) & (weighted > 0))
        sign = PairLayout(len(self.class_weight)).sign_of_first
        return kept, np.where(code[kept] == first, sign, -sign), weighted[kept]

    def weigh(self, block: Block) -> float:
        """Return the sum of the weights of a block."""
        return float(self._rows(block)[2].sum())

    def sums(self, block: Block) -> Totals:
        """Return the sums over the rows of a block."""
        _, target, weight = self._rows(block)
        return Totals.of(target, self.formulation.box(weight, self.weight))

    def shard(self, block: Block) -> Shard:
        """Return the rows of the problem in a block as a shard.

        Raises RuntimeError if a block that was made again has another number of rows.
        """
        kept, target, weight = self._rows(block)
        if self.sizes and len(kept) != self.sizes[block.number]:
            raise RuntimeError(
                f"X changed while the model was fitted: a part that had {self.sizes[block.number]} "
                f"rows has {len(kept)} now; partitions must be the same whenever they are computed"
            )
        box = self.formulation.box(weight, self.weight)
        dual = self.formulation.dual(target, box, self.totals)
        rows, origin = block.rows, block.origin
        if len(kept) < len(block):
            rows, origin = rows.take(kept), origin[kept]
        begin = sum(self.sizes[: block.number])
        columns = HeardRows(
            self.kernel,
            rows,
            begin,
            self.longest,
            origin,
            dual.diagonal,
            self.threads,
        )
        return Shard(columns, dual, self.threads, begin)


class Blocks(Protocol):
    """All blocks of the rows, in memory, on disk or on other machines."""

    def ask(self, question: Callable[[Block], Answer], look: Callable[[], None]) -> list[Answer]:
        """Return the answers of all blocks, in order.

        `look` is called during the wait for answers, and may raise an exception.
        """
        ...

    def connect(self, recipe: Recipe) -> Port:
        """Return a port to the shards of a problem, made from the blocks `recipe.present`."""
        ...


@dataclass(frozen=True, eq=False)
class Task:
    """Rows and problem of a fit.

    Attributes
    ----------
    blocks : Blocks
    recipe : Recipe
        Recipe of the first problem, without its sums.
    none : Vectors
        No rows, in the form that all rows have.
    classes : int
        Number of classes; 0 for targets that are not classes.
    threads : int
        Threads of the coordinator.
    room : int
        Number of rows for which the memory of the working set suffices.
    runner : Runner, optional
        Runner that solves samples; threads of this process by default.
    """

    blocks: Blocks
    recipe: Recipe
    none: Vectors
    classes: int
    threads: int
    room: int
    runner: Runner | None = None


@dataclass(frozen=True, eq=False)
class Supports:
    """Support vectors of all problems.

    Attributes
    ----------
    origin : ndarray
        Numbers of the support vectors among the rows that the user passed, ascending.
    data : ndarray or sparse matrix
        Features of the support vectors.
    code : ndarray
        Class indices of the support vectors; zeros if there are no classes.
    lines : ndarray of shape (lines, len(origin))
        Coefficients in the layout of `PairLayout`, before they are divided by the margin.
    """

    origin: Ints
    data: Any
    code: Ints
    lines: Floats


@dataclass(frozen=True, eq=False)
class _Solved:
    """Solution of one problem with its support vectors."""

    trained: Trained
    rows: Features
    coef: Floats


def train_blocks(
    task: Task, settings: Settings, observers: Observers, budget: Budget | None = None
) -> tuple[Supports, list[Trained]]:
    """Solve and certify the problems of all pairs of classes, or the only problem.

    Parameters
    ----------
    task : Task
    settings : Settings
    observers : Observers
    budget : Budget, optional
        Remaining time; by default all of it.
    """
    budget = Budget(settings.max_time) if budget is None else budget
    pairs = PairLayout(task.classes).pairs if task.classes else [(0, 1)]
    rngs = [settings.rng] if len(pairs) == 1 else settings.rng.spawn(len(pairs))
    found: list[_Solved] = []
    with limited_blas(1):
        for p, (pair, rng) in enumerate(zip(pairs, rngs, strict=True)):
            share = budget.part(1 / (len(pairs) - p), max_steps=settings.max_steps)
            recipe = replace(task.recipe, pair=pair)
            with observers.problem(p) as observe:
                one = _train(replace(task, recipe=recipe), settings, share, observe, rng, p)
            found.append(one)
            budget.stopped |= one.trained.solution.status == Status.INTERRUPTED
        _continue_late(task, settings, budget, observers, found, pairs, rngs)
    return _united(found, pairs, task), [one.trained for one in found]


def _continue_late(
    task: Task,
    settings: Settings,
    budget: Budget,
    observers: Observers,
    found: list[_Solved],
    pairs: list[tuple[int, int]],
    rngs: Sequence[np.random.Generator],
) -> None:
    """Give the time that other pairs left over to the pairs that it ended. Sets: found."""
    late = [p for p, one in enumerate(found) if one.trained.certificate.status == Status.TIME_LIMIT]
    for k, p in enumerate(late):
        left = budget.remaining(reserve=_LEAST_PART * (budget.max_time or 0.0))
        if len(pairs) == 1 or not left or budget.stopped:
            return
        share = budget.part(1 / (len(late) - k), max_steps=settings.max_steps)
        before = found[p].trained
        again, start = replace(task.recipe, pair=pairs[p]), before.solution.point
        one = _train(
            replace(task, recipe=again), settings, share, observers.again(p), rngs[p], p,
            start if len(start) else None,
        )  # fmt: skip
        solution = continued(before.solution, one.trained.solution)
        trained = replace(one.trained, solution=solution)
        if trained.at_least_as_good_as(before):
            found[p] = replace(one, trained=trained)
        budget.stopped |= solution.status == Status.INTERRUPTED


def _train(
    task: Task,
    settings: Settings,
    budget: Budget,
    observe: Observer,
    rng: np.random.Generator,
    number: int,
    start: Point | None = None,
) -> _Solved:
    """Solve and certify one problem, from a starting point if that is given."""
    known = TakenRows(task.recipe.kernel, task.none, task.recipe.longest, task.threads)
    try:
        recipe = _with_sums(task, budget.look_at_clock)
        port = task.blocks.connect(recipe)
        form = select(recipe.formulation.dual(np.ones(1), np.ones(1), recipe.totals), np.arange(0))
        shards = ShardSet(port, known, form, Poll(budget.look_at_clock))
        examiner = Examiner(lambda: shards, settings.goal, budget, observe=observe)
        engines = Engines(
            shards=shards,
            settings=settings,
            budget=budget,
            observe=observe,
            threads=task.threads,
            rng=rng,
            check=examiner.check,
            room=min(task.room, shards.rows),
            sites=max(1, settings.max_memory // (16 * task.room**2 + 1)),
            start=start,
            runner=task.runner,
        )
        solution = settings.strategy.solve(engines)
        trained = examiner.certified(labelled(solution, number))
        point = trained.solution.point
        _fetch(shards, known.unknown(point.ids), settings)
    except (OutOfBudget, KeyboardInterrupt) as stop:
        return _not_begun(task, settings, stopped_by(stop))
    return _Solved(trained, known.heard(point.ids), point.coef)


def _fetch(shards: ShardSet, missing: Ints, settings: Settings) -> None:
    """Fetch rows without which there is no model, also if the time is over by now."""
    if len(missing):
        look = Budget(None if settings.max_time is None else _GRACE).look_at_end
        with shards.polling(Poll(look)):
            shards.fetch(missing)


def _with_sums(task: Task, look: Callable[[], None]) -> Recipe:
    """Return the recipe of a problem with the sums over all rows."""
    recipe, ask = task.recipe, task.blocks.ask
    recipe = replace(recipe, weight=fsum(ask(recipe.weigh, look)))
    sums = ask(recipe.sums, look)
    sizes = tuple(part.rows for part in sums)
    return replace(recipe, totals=Totals.merged(sums), sizes=sizes)


def _not_begun(task: Task, settings: Settings, status: Status) -> _Solved:
    """Return a solution with zero coefficients, for a problem for which no time is left."""
    dual = task.recipe.formulation.dual(np.array([1.0, -1.0]), np.ones(2))  # feasible for all nu
    point = Point.zero(dual.layers)
    solution = Solution(point, 0, np.zeros(dual.groups), -np.inf, status, Trace(), 0, 0)
    known = TakenRows(task.recipe.kernel, task.none, task.recipe.longest)
    return _Solved(uncertified(solution, settings.goal), known.rows, point.coef)


def _united(found: Sequence[_Solved], pairs: list[tuple[int, int]], task: Task) -> Supports:
    """Merge the support vectors of all problems."""
    rows = [replace(one.rows, ids=one.rows.origin, diagonal=None) for one in found]
    every = joined([_sorted(part) for part in rows])
    layout = PairLayout(max(1, task.classes))
    code = np.zeros(len(every), dtype=np.int64)
    lines = np.zeros((layout.lines, len(every)))
    for (i, j), one in zip(pairs, found, strict=True):
        at = np.searchsorted(every.ids, one.rows.origin)
        if task.classes == 0:
            lines[0, at] = one.coef
            continue
        first = (one.coef > 0) == (layout.sign_of_first > 0)
        code[at] = np.where(first, i, j)
        lines[np.where(first, layout.line(i, j), layout.line(j, i)), at] = one.coef
    used = np.flatnonzero(lines.any(axis=0))
    return Supports(every.ids[used], every.data[used], code[used], lines[:, used])


def _sorted(rows: Features) -> Features:
    """Return rows in the order of their numbers."""
    return rows.select(np.argsort(rows.ids))
