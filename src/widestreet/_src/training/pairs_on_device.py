"""Pairs of classes that a device solves side by side, instead of one after the other.

The pairs share one copy of the rows. A device takes the pair steps of all of them at the same time,
where one pair could not keep it busy. This pays if the CPU would need some hundredths of a second.

Pairs of very many rows are solved one by one, there or on the CPU; so is everything that a device
cannot take steps on. What a device leaves unsolved continues on the CPU from the point it reached.
"""

from __future__ import annotations

import logging
import warnings

import numpy as np

from widestreet._src.engines.budget import Budget
from widestreet._src.engines.solution import Solution
from widestreet._src.engines.working_set import small
from widestreet._src.engines.working_set.batch_on_device import Part, batches, solve
from widestreet._src.engines.working_set.state_of_rounds import FEW_FOR_DEVICE
from widestreet._src.kernels.gram import Gram, resident
from widestreet._src.kernels.on_device import Resident
from widestreet._src.rows import DeviceRows
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.status import Status
from widestreet._src.training.pair_budgets import PairBudgets
from widestreet._src.training.pair_problems import PairProblems
from widestreet._src.training.settings import Settings

log = logging.getLogger("widestreet")

_FEWEST_PAIRS = 2
_LEAST_COST = 1e9  # multiply-adds per thread of the pairs on the CPU: some hundredths of a second


def pairs_for_device(
    gram: Gram, machines: PairProblems, settings: Settings, threads: int
) -> list[int]:
    """Return the numbers of the pairs that a device should solve side by side.

    Parameters
    ----------
    gram : Gram
        Kernel values of all rows.
    machines : PairProblems
    settings : Settings
    threads : int
        Number of pairs that the CPU would solve at the same time.
    """
    if not isinstance(gram.left, DeviceRows) or not settings.strategy.solves_small:
        return []
    duals = [problem.dual for problem in machines.problems]
    one = duals[0]  # all of them are of one kind
    if one.layers > 1 or one.groups > 1 or one.total.any() or one.diagonal is not None:
        return []
    chosen = [p for p, dual in enumerate(duals) if dual.rows <= FEW_FOR_DEVICE]
    cost = sum(small.cost_of_many(gram, duals[p].rows) for p in chosen)
    return chosen if len(chosen) >= _FEWEST_PAIRS and cost >= _LEAST_COST * threads else []


def solve_on_device(
    gram: Gram,
    machines: PairProblems,
    numbers: list[int],
    settings: Settings,
    shares: PairBudgets,
) -> dict[int, Solution]:
    """Solve pairs side by side on the device of the rows; return those that it took, by number.

    If it fails for another reason than its memory, a warning says so, and the result has the pairs
    of the calls before. After an interrupt no further pairs are solved.

    Parameters
    ----------
    gram : Gram
        Kernel values of all rows.
    machines : PairProblems
    numbers : list of int
    settings : Settings
    shares : PairBudgets

    Sets: the budgets of all pairs, after an interrupt.
    """
    found: dict[int, Solution] = {}
    try:
        there = resident(gram)
        if there is None:
            return found
        sizes = [machines.problems[p].dual.rows for p in numbers]
        for group in batches(sizes, there.spare):
            some = [numbers[k] for k in group]
            budget = shares.share(sum(sizes[k] for k in group))
            if budget is None:
                break
            found |= zip(some, _solved(there, machines, some, settings, budget), strict=True)
            if found[some[0]].status == Status.INTERRUPTED:
                shares.stop()
    except KeyboardInterrupt:  # raised outside the rounds: pairs of the calls before are kept
        shares.stop()
    except MemoryError as error:
        log.info("memory of the device is short, and pairs are solved one by one: %s", error)
    except Exception as error:  # whatever fails there, the CPU can do
        warnings.warn(
            f"the device could not solve pairs of classes side by side, and they are solved one "
            f"by one: {type(error).__name__}: {error}",
            RuntimeWarning,
            stacklevel=level_of_caller(),
        )
    return found


def _solved(
    there: Resident, machines: PairProblems, some: list[int], settings: Settings, budget: Budget
) -> list[Solution]:
    """Solve pairs in one batch."""
    parts = [
        Part(machines.problems[p].dual, machines.rows(p), machines.problems[p].start, p)
        for p in some
    ]
    found = solve(there, parts, settings.goal, budget)
    log.info(
        "the device solved %d of %d pairs of classes side by side, with up to %d pair steps each",
        sum(one.status.success for one in found),
        len(found),
        np.max([one.pair_steps for one in found]),
    )
    return found
