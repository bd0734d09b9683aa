"""Cost of the interior-point method, to compare with that of pair steps."""

from __future__ import annotations

from widestreet._src.engines.interior.low_rank_factor import rank_bound
from widestreet._src.kernels.kernels import Kernel

ITERATIONS = 40  # as many as most problems need
MOST_RANK = 500  # largest rank that is tried if the rank is not known
FEW_ROWS = 1500  # with fewer rows, their number is used as a bound on the rank
_MOST_COST = 1e13  # multiply-adds, half an hour on one processor
_PATIENCE = 0.15  # of the cost of the interior-point method: spent on rounds before it is tried
_STEP_COST = 35.0  # of a pair step per row of its block, in multiply-adds
_LEAST_BLOCK = 512  # rows of a block of pair steps
_LEAST_STEPS = 1000  # pair steps always allowed


def largest_rank(kernel: Kernel, rows: int, columns: int) -> int:
    """Return the largest rank for which the method is tried."""
    bound = rank_bound(kernel, rows, columns)
    return bound if bound < rows or rows <= FEW_ROWS else min(bound, MOST_RANK)


def cost(rows: int, rank: int) -> float:
    """Return the multiply-adds of a solution."""
    return ITERATIONS * (rows * rank * (rank + 10.0) + rank**3 / 3.0)


def patience(kernel: Kernel, rows: int, columns: int) -> float | None:
    """Return the multiply-adds to spend on rounds before the method; None if it is too slow."""
    every = cost(rows, largest_rank(kernel, rows, columns))
    return _PATIENCE * every if every <= _MOST_COST else None


def pair_steps(operations: float, rows: int) -> int:
    """Return the number of pair steps that cost so many multiply-adds."""
    return max(_LEAST_STEPS, int(operations / (_STEP_COST * min(rows, 4 * _LEAST_BLOCK))))
