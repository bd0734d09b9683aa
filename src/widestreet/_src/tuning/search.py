"""Solution of all tasks of a search: candidates times folds, with shared work.

Tasks with the same kernel share its kernel matrix, unless it is too large or near_rows.py is
faster. Within a fold and a pair of classes they are solved one after the other, by ascending C,
each from the solution of the one before. The first problem of a fold starts from that of another
fold. The scores of held-out rows come with the solution, or are one product of the kernel values
with the coefficients of all these candidates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import zip_longest
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.kernels.kernels import Kernel
from widestreet._src.kernels.poll import Poll
from widestreet._src.shards.runner import LocalRunner
from widestreet._src.status import Status
from widestreet._src.threads import limited_blas
from widestreet._src.training.memory_of_fit import least_memory
from widestreet._src.training.settings import Settings
from widestreet._src.tuning.chain import ChainPoint, Scratches
from widestreet._src.tuning.kernel_values import KernelValues, Step, StoredValues, StreamedValues
from widestreet._src.tuning.matrices import KernelMatrices
from widestreet._src.tuning.memory_of_search import ARRAYS_SHARE, MemoryOfSearch
from widestreet._src.tuning.near_rows import (
    Memory,
    NearRows,
    are_worthwhile,
    memory_of_arrays,
    precision,
)
from widestreet._src.tuning.outcomes import Outcome
from widestreet._src.tuning.tasks import SearchData, Task

_FEW_ROWS = 300  # so few need no Newton steps, and folds with one problem each are one chain
Report = Callable[[int, Outcome, Ints, Floats], None]
_Found = dict[tuple[int, tuple[int, int]], tuple[ChainPoint, float]]  # by task and pair of classes


@dataclass(frozen=True, eq=False)
class _Chain:
    """Tasks of one kernel and one pair of classes, in the order of their solution.

    They are those of one fold, or of all folds if each has one task and few rows.
    """

    pair: tuple[int, int]
    tasks: list[int]

    @property
    def head(self) -> _Chain:
        """The first task alone."""
        return replace(self, tasks=self.tasks[:1])


_Link = tuple[KernelValues, list[_Chain], _Found]  # chains to solve, and solutions known before


@dataclass(frozen=True, eq=False)
class Search:
    """All tasks of a search.

    Attributes
    ----------
    data : SearchData
    tasks : sequence of Task
        Tasks of any candidates and folds of the data; losses are linear.
    settings : Settings
        Limits of the search.
    budget : Budget
    report : callable
        Called with the position of each task, its outcome, row numbers and their scores.
    every_row : bool
        Whether scores of the training rows are reported as well.
    tell : callable
        Called with the part of a task that was solved, from any thread: one pair of classes.
    start : callable, optional
        Takes the position of a task and that of a pair of classes, and returns coefficients of the
        distinct rows, from which the first task of a fold starts.
    """

    data: SearchData
    tasks: Sequence[Task]
    settings: Settings
    budget: Budget
    report: Report
    every_row: bool = False
    tell: Callable[[float], None] = lambda part: None
    start: Callable[[int, int], Floats] | None = None

    def run(self) -> None:
        """Solve all tasks; raise OutOfBudget or KeyboardInterrupt if it is stopped."""
        groups: dict[tuple[Kernel, bool], list[int]] = defaultdict(list)
        for k, task in enumerate(self.tasks):
            groups[task.kernel, task.formulation.coefficients_sum_to_zero].append(k)
        order = sorted(groups.items(), key=_by_gamma)
        with limited_blas(1):
            for begin in range(0, len(order), self._memory.at_once):
                self.budget.look_at_clock()
                batch = order[begin : begin + self._memory.at_once]
                values = [self._values(kernel, k) for k, ((kernel, _), _) in enumerate(batch)]
                portions = [self._memory.portions(members) for _, members in batch]
                for part in zip_longest(*portions, fillvalue=[]):
                    pairs = zip(values, part, strict=True)
                    self._solve_kernels([(one, members) for one, members in pairs if members])
        self.budget.look_for_stop()
        if len(self._reported) < len(self.tasks):  # the clock need not show it: the reserve changes
            raise OutOfBudget(Status.TIME_LIMIT)

    # -- kernel values -----------------------------------------------------------------------------

    @cached_property
    def _matrices(self) -> KernelMatrices:
        sum_to_zero = self.tasks[0].formulation.coefficients_sum_to_zero
        return KernelMatrices(
            partial(self.data.rows_for, sum_to_zero=sum_to_zero),  # a cycle would keep the memory
            self.data.merged.kept,
            share=self._memory.shares_distances,
            threads=self.settings.threads,
        )

    @cached_property
    def _scratches(self) -> Scratches:
        return Scratches()

    @cached_property
    def _memory(self) -> MemoryOfSearch:
        return MemoryOfSearch(self.data, self.tasks, self.settings, near=self.start is None)

    def _values(self, kernel: Kernel, number: int) -> KernelValues:
        """Return the kernel values, stored in a matrix of this number if the memory suffices."""
        stored = self._memory.stores
        threads = 1 if stored else self.settings.threads
        gram = self._matrices.gram(kernel)
        tiles = None if stored else self._memory.tiles
        streamed = StreamedValues(gram, self.budget, threads, tiles)
        if not stored:
            return streamed
        poll = Poll(self.budget.look_at_clock)
        matrix = self._matrices.matrix(kernel, poll, number)
        rounded = self._matrices.rounded(poll, number) if self._memory.keeps_rounded else None
        return StoredValues(matrix, streamed, self._scratches, rounded)

    # -- problems ----------------------------------------------------------------------------------

    def _solve_kernels(self, batch: list[tuple[KernelValues, list[int]]]) -> None:
        """Solve the tasks of some kernels and report them."""
        stored = isinstance(batch[0][0], StoredValues)
        runner = LocalRunner(self.settings.threads if stored else 1)

        def solve(link: _Link) -> _Found:
            return self._solve(*link)

        whole = [
            (values, chains, _Found())
            for values, members in batch
            for chains in self._chains(members)
        ]
        found: _Found = {}
        links: list[_Link] = []
        if stored and len(whole) == len(batch):  # of one pair each: folds at the same time
            heads: list[_Link] = [
                (values, [chains[0].head], _Found()) for values, chains, _ in whole
            ]
            for part, (values, chains, _) in zip(
                runner.map(solve, heads, self._stop), whole, strict=True
            ):
                links += [(values, [chain], part) for chain in chains]
                found |= part
        else:
            links = whole
        for part in runner.map(solve, links, self._stop):
            found |= part
        for values, members in batch:
            by_fold: dict[int, list[int]] = defaultdict(list)
            for k in members:
                if all((k, pair) in found for pair in self.tasks[k].pairs):
                    by_fold[id(self.tasks[k].fold)].append(k)
            for done in by_fold.values():
                self._report(values, done, found)

    def _chains(self, members: list[int]) -> list[list[_Chain]]:
        """Return the chains of all folds, for each pair of classes."""
        order = sorted(members, key=lambda k: self.tasks[k].place)
        chains: dict[tuple[int, int], dict[int, _Chain]] = defaultdict(dict)
        for k in order:
            task = self.tasks[k]
            for pair in task.pairs:
                chains[pair].setdefault(id(task.fold), _Chain(pair, [])).tasks.append(k)
        found = [list(folds.values()) for folds in chains.values()]
        single = all(len(chain.tasks) == 1 for folds in found for chain in folds)
        several = len(found) > 1
        rows = self._memory.largest_pair if several else len(self.data.merged.kept)
        if single and rows <= _FEW_ROWS and (several or self.settings.threads == 1):
            return [
                [_Chain(folds[0].pair, [k for one in folds for k in one.tasks])] for folds in found
            ]
        return found

    def _stop(self) -> None:
        self.budget.stopped = True

    def _solve(self, values: KernelValues, chains: list[_Chain], known: _Found) -> _Found:
        """Solve chains of one pair of classes, as far as time allows.

        The first problem of a chain starts from that of the chain before, or from a known one.
        """
        found: _Found = {}
        pair = chains[0].pair
        members = self._members(pair)

        def note(k: int, timed: tuple[ChainPoint, float]) -> None:
            found[k, pair] = timed
            self.tell(1.0 / len(self.tasks[k].pairs))

        try:
            self.budget.look_at_clock()
            part = values.part(members)
            if isinstance(part, StreamedValues) and self.start is None:
                problems = [
                    [self._step(self.tasks[k], pair, members) for k in c.tasks] for c in chains
                ]
                if self._arrays_fit(part, problems) and are_worthwhile(problems):
                    self._solve_near(part, chains, problems, note)
                    return found
            self._memories.clear()  # no pair that the engine solves has a use for a kept matrix
            first = next((point for point, _ in known.values()), None)
            for chain in chains:
                left = [k for k in chain.tasks if (k, pair) not in known]
                steps = (self._step(self.tasks[k], pair, members) for k in left)
                before = first
                if left and left[0] == chain.tasks[0]:
                    before = self._given(left[0], pair, members) or first
                for k, timed in zip(left, part.solve_all(steps, before), strict=True):
                    note(k, timed)
                first = found.get((chain.tasks[0], pair), (first, 0.0))[0]
        except (OutOfBudget, KeyboardInterrupt) as stop:
            self.budget.stopped |= isinstance(stop, KeyboardInterrupt)
        return found

    def _arrays_fit(self, values: StreamedValues, problems: list[list[Step]]) -> bool:
        """Return whether arrays of folds take a small part of the memory and leave enough."""
        dual, limit = problems[0][0].dual, self._memory.limits.max_memory
        arrays = memory_of_arrays(dual.rows, dual.layers, len(problems))
        least = least_memory(dual, values.gram.left.shape[1])
        return arrays <= min(ARRAYS_SHARE * limit, limit - least)

    def _solve_near(
        self,
        values: StreamedValues,
        chains: list[_Chain],
        problems: list[list[Step]],
        note: Callable[[int, tuple[ChainPoint, float]], None],
    ) -> None:
        """Solve chains of one pair of classes over the rows near the margin, and note each task."""

        def report(chain: int, at: int, timed: tuple[ChainPoint, float]) -> None:
            note(chains[chain].tasks[at], timed)

        dtype = precision(values.gram, min(step.tol for chain in problems for step in chain))
        if dtype not in self._memories:
            self._memories.clear()
            self._memories[dtype] = Memory(self._memory.limits.max_memory, dtype)
        memory = self._memories[dtype]
        dual = problems[0][0].dual
        arrays = memory_of_arrays(dual.rows, dual.layers, len(problems))
        memory.limit = self._memory.limits.max_memory - arrays
        NearRows(values, problems, memory, self._stop).solve(report)

    def _given(self, k: int, pair: tuple[int, int], members: Ints | None) -> ChainPoint | None:
        """Return the given start of a task; None if there is none, or sums must not be zero."""
        if self.start is None:
            return None
        step = self._step(self.tasks[k], pair, members)
        dual = step.dual
        if dual.total.any():
            return None
        coef = self.start(k, self.tasks[k].pairs.index(pair))
        beta = np.clip(coef if members is None else coef[members], dual.lower, dual.upper)
        return ChainPoint(beta, None, np.zeros(dual.groups), np.inf, 0, step.scale, 0.0)

    def _members(self, pair: tuple[int, int]) -> Ints | None:
        """Return the distinct rows of a pair of classes; None for all rows."""
        if self.data.classes is None or len(self.data.classes) == 2:
            return None
        if pair not in self._known_members:
            self._known_members[pair] = np.flatnonzero(np.isin(self.data.label, pair))
        return self._known_members[pair]

    @cached_property
    def _memories(self) -> dict[Any, Memory]:
        """Memory of the kernel matrix of near rows, by precision."""
        return {}

    @cached_property
    def _reported(self) -> set[int]:
        """Tasks that were reported."""
        return set()

    @cached_property
    def _known_members(self) -> dict[tuple[int, int], Ints]:
        return {}

    def _step(self, task: Task, pair: tuple[int, int], members: Ints | None) -> Step:
        """Return the problem of a pair of classes."""
        every = slice(None) if members is None else members
        target, box = self.data.label[every], task.box[every]
        if task.class_weight is not None:
            sign = task.layout.sign_of_first
            target = np.where(target == pair[0], sign, -sign)
        settings = replace(self._memory.limits, goal=task.goal)
        return Step(task.formulation.dual(target, box), task.formulation.scale, settings)

    # -- results -----------------------------------------------------------------------------------

    def _outcome(self, k: int, found: _Found) -> Outcome:
        """Return the solution of a task from those of its pairs."""
        task, rows = self.tasks[k], len(self.data.merged.kept)
        coefs = []
        for pair in task.pairs:
            members, point = self._members(pair), found[k, pair][0]
            coef = np.zeros(rows)
            coef[slice(None) if members is None else members] = point.beta.sum(axis=0)
            coefs.append(coef)
        points = [found[k, pair][0] for pair in task.pairs]
        return Outcome(
            task,
            coefs,
            [point.bias for point in points],
            [point.steps for point in points],
            max(point.violation for point in points),
            sum(found[k, pair][1] for pair in task.pairs),
        )

    def _report(self, values: KernelValues, done: list[int], found: _Found) -> None:
        """Report tasks of one fold with the scores of its rows."""
        outcomes = [self._outcome(k, found) for k in done]
        fold = outcomes[0].task.fold
        rows = np.unique(np.concatenate([fold.train, fold.test]) if self.every_row else fold.test)
        ids, place = np.unique(self.data.member[rows], return_inverse=True)
        known = [score for k in done if (score := self._known_score(k, found)) is not None]
        if len(known) == len(done):
            scores = np.array([score[ids[place]] for score in known])
        else:
            lines = np.array([coef for outcome in outcomes for coef in outcome.coefs])
            scores = values.scores(ids, lines)[:, place]
        begin = 0
        for k, outcome in zip(done, outcomes, strict=True):
            end = begin + len(outcome.coefs)
            self.report(k, outcome, rows, scores[begin:end])
            self._reported.add(k)
            begin = end

    def _known_score(self, k: int, found: _Found) -> Floats | None:
        """Return the scores of all distinct rows, if the solution of a task has them."""
        [pair, *more] = self.tasks[k].pairs
        return None if more or self._members(pair) is not None else found[k, pair][0].score


def _by_gamma(group: tuple[tuple[Kernel, bool], list[int]]) -> float:
    """Return the width of a kernel, to begin with the widest, whose problems are the easiest."""
    return float(getattr(group[0][0], "gamma", 0.0))
