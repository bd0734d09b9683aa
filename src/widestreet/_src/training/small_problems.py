"""Problems that one call of the core solves."""

from __future__ import annotations

from collections.abc import Sequence

from widestreet._src.engines.budget import Budget
from widestreet._src.engines.solution import Solution
from widestreet._src.engines.working_set import small
from widestreet._src.kernels.gram import Gram
from widestreet._src.problems.dual import Dual
from widestreet._src.training.memory_of_fit import working_set_capacity
from widestreet._src.training.problem import Problem
from widestreet._src.training.settings import Settings


def is_small(gram: Gram, dual: Dual, settings: Settings) -> bool:
    """Return whether one call of the core can solve a problem; it supports no diagonal term."""
    if dual.diagonal is not None:
        return False
    capacity = working_set_capacity(settings.max_memory, dual, gram.left.shape[1])
    return small.suits(gram, dual.rows, settings.strategy, capacity)


def solve_small(
    grams: Sequence[Gram],
    problems: Sequence[Problem],
    settings: Settings,
    budget: Budget,
    threads: int,
    numbers: Sequence[int] = (0,),
) -> list[Solution]:
    """Solve small problems in one call of the core; `Solver.finish` completes the solutions.

    Parameters
    ----------
    grams : sequence of Gram
    problems : sequence of Problem
    settings : Settings
    budget : Budget
    threads : int
    numbers : sequence of int
        Numbers of the problems in their records.
    """
    budget.look_at_clock()
    return small.solve(
        grams,
        [problem.dual for problem in problems],
        [problem.start for problem in problems],
        goal=settings.goal,
        budget=budget,
        threads=threads,
        numbers=numbers,
    )
