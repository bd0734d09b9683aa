"""The dual restricted to the working set, solved in the memory of a device.

Blocks of pair steps alternate with Newton steps on all rows that are free or violate
(device_schedule.py). Where few rows are free, convergence needs many pair steps, and exact Newton
steps are cheap: the device draws a block and computes its kernel values, the host takes the steps
(block_on_host.py), and the device updates the scores of all rows. While the violation falls, rows
that are far from violating are set aside: their scores are updated at the end, and they return.

If the memory of the device has all rows, the working set grows there (growth_on_device.py).

The device computes kernel values faster than it could load them, so that no tile is stored and the
working set may be large. Sequential steps are what costs time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.device.contract import Look, Variables, Work
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.working_set.block_on_host import solve_block
from widestreet._src.engines.working_set.device_schedule import DevicePacing
from widestreet._src.engines.working_set.state_of_rounds import Inputs, State
from widestreet._src.engines.working_set.tile import WorkingSet
from widestreet._src.kernels.poll import Poll

log = logging.getLogger("widestreet")

_FEW_FREE = 512  # rows up to which the host takes the steps of a block
_HOST_BLOCK, _ROUND_TO = 768, 64  # rows of such a block
_HOST_PART, _HOST_PART_OF_ALL = 0.3, 0.03  # of the violation to which it is solved
_HOST_LEAST, _HOST_MOST = 500, 8000  # pair steps in it, if it is not of all rows that take part
_LEAST_BLOCK, _LARGEST_BLOCK = 256, 2048  # rows of a block of pair steps on the device
# Blocks that are solved between two looks at the result: while one is solved, the host prepares the
# next one. One block has all rows if there are so few.
_FEWEST_BLOCKS, _MOST_BLOCKS = 2, 4
_PART = 0.2  # of the violation to which a block is solved
_PART_OF_ALL = 0.03  # the same for a block of all rows that are free or violate
NEAR = 0.25  # of the goal: rows at a bound that violate by more take part in a Newton step
_PASSES = 8  # factorisations of a Newton step
_RIDGE, _LAST_RIDGE = 0.1, 0.03  # of the violation; the second where few rows violate
_FEW = 0.05  # violators per free row
_PATIENCE = 60  # calls without progress after which a solve ends
_PROGRESS = 0.95  # of the best violation
_LARGE = 6000  # rows from which on some are set aside
_ACTIVE = 0.25  # part of the rows below which those that take part are few
_DISTANCE = 4.0  # violations: rows farther away are set aside
_AGAIN = 0.2  # of the violation at which rows were last set aside


@dataclass(eq=False)
class Solve:
    """One solve of a working set.

    Attributes
    ----------
    work : Work
    tol : float
    tick : callable
        Called after each call of the device with the number of pair steps and of kernel values, and
        with whether the goal is reached.
    pace : DevicePacing
    budget : Budget
    poll : Poll
    """

    work: Work
    tol: float
    tick: Callable[[int, int, bool], None]
    pace: DevicePacing
    budget: Budget
    poll: Poll

    def run(self) -> bool:
        """Take steps until the working set violates by at most `tol`, or progress ends.

        Return which of both.
        """
        work, look = self.work, self.work.look()
        self.pace.begin()
        rows, best, idle, threshold = work.active, np.inf, 0, np.inf
        while True:
            if not look.violation <= self.tol and idle <= _PATIENCE:  # or nan
                look = self._block(look)
                idle = 0 if look.violation < _PROGRESS * best else idle + 1
                best = min(best, look.violation)
                if look.violation > self.tol and self.pace.due(look):
                    look = self._newton(look)
            if look.violation <= self.tol or idle > _PATIENCE:
                if work.active == rows:
                    return look.violation <= self.tol
                threshold, look = 0.3 * look.violation, work.take_back()
                if look.violation <= self.tol or idle > _PATIENCE:
                    return look.violation <= self.tol
            elif self._few(look) and look.violation < threshold:
                threshold = _AGAIN * look.violation
                look = work.set_aside(_DISTANCE * look.violation)

    def _few(self, look: Look) -> bool:
        """Return whether so few rows take part that others should be set aside."""
        active = self.work.active
        return active > _LARGE and look.free + look.violators < _ACTIVE * active

    def _block(self, look: Look) -> Look:
        """Take pair steps in one block, where they cost less."""
        many = look.free + look.violators > _HOST_BLOCK and self.pace.steps_of_block < _HOST_LEAST
        if look.free > _FEW_FREE or many:
            return self._on_device(look)
        return self._on_host(look)

    def _on_host(self, look: Look) -> Look:
        """Take pair steps, and Newton steps if all rows take part, in a block on the host."""
        active, taking = self.work.active, look.free + look.violators
        size = min(_HOST_BLOCK, _ROUND_TO * (taking // _ROUND_TO + 1))
        every = taking <= size
        block = self.work.draw(size, *_chances(look, size))
        goal = max(0.9 * self.tol, (_HOST_PART_OF_ALL if every else _HOST_PART) * look.violation)
        most = max(1, min(self.budget.steps_left, _HOST_MOST))
        patience = self.pace.patience if every else None
        at, coef, steps = solve_block(block, goal, most, patience, self.poll)
        after = self.work.move(at, coef)
        self.pace.spend_on_host(steps, size)
        values = len(block.tile) ** 2 + len(at) * active
        self.tick(steps, values, after.violation <= self.tol)
        return after

    def _on_device(self, look: Look) -> Look:
        """Take pair steps in some blocks on the device."""
        active, taking = self.work.active, look.free + look.violators
        size = 1 << max(0, int(1.1 * taking) - 1).bit_length()
        size = min(_LARGEST_BLOCK, max(_LEAST_BLOCK, size))
        part = _PART
        if active <= size:
            part = 0.0
        elif taking <= 0.95 * size:
            part = _PART_OF_ALL
        most = max(1, min(self.budget.steps_left, self.pace.allowed(look, size)))
        blocks = 1 if active <= size else min(max(_FEWEST_BLOCKS, taking // size), _MOST_BLOCKS)
        blocks = max(1, min(blocks, self.budget.steps_left // most))
        chances = _chances(look, size)
        after = self.work.pairs(size, chances, 0.9 * self.tol, part, most, blocks)
        self.pace.spend(after.steps, size, blocks)
        self.tick(after.steps, blocks * size * (size + active), after.violation <= self.tol)
        return after

    def _newton(self, look: Look) -> Look:
        """Take a Newton step."""
        few = look.violators <= _FEW * look.free
        after = self.work.newton(_LAST_RIDGE if few else _RIDGE, _PASSES)
        self.pace.took(look.violation, after.steps)
        size = look.free + look.violators
        self.tick(0, size * (size + self.work.active), after.violation <= self.tol)
        return after


def _chances(look: Look, size: int) -> tuple[float, float]:
    """Return the probabilities that a free row, and another one that violates, is in a block."""
    room = max(size - look.free, size // 2)  # for violators
    free = min(1.0, (size - min(look.violators, room)) / max(1, look.free))
    return free, min(1.0, 0.97 * room / max(1, look.violators))


def variables_of(
    target: Floats, lower: Floats, upper: Floats, coef: Floats, score: Floats
) -> Variables:
    """Return the variables of rows as one per row, from those of both layers, or of one."""
    up, down = _layers(upper)
    tube = np.broadcast_to(0.0, len(coef)) if up == down else target[down] - target[up]
    return Variables(coef, score, target[up], tube, lower[down], upper[up])


def _layers(upper: Floats) -> tuple[int, int]:
    """Return the layer whose variables may be positive, and that of the others."""
    if len(upper) == 1:
        return 0, 0
    return (0, 1) if bool((upper[1] <= 0).all()) else (1, 0)


def put_back(work: WorkingSet, coef: Floats, score: Floats) -> None:
    """Set the coefficients and scores of a working set. Sets: beta, score."""
    here = work.present
    up, down = _layers(work.upper[:, here])
    if up == down:
        work.beta[0, here] = coef
    else:
        work.beta[up, here], work.beta[down, here] = np.maximum(coef, 0.0), np.minimum(coef, 0.0)
    work.score[here] = score


def solver(inputs: Inputs, state: State, held: Work, tol: float) -> Solve:
    """Return a solve that counts its steps and may be stopped. Sets: device_schedule."""
    assert inputs.resident is not None
    poll = state.work.poll

    def tick(steps: int, values: int, finished: bool) -> None:
        state.steps += max(1, steps)  # a Newton step counts as one
        state.pair_steps += steps
        poll.kernel_values += values
        poll.look()
        inputs.budget.spend(steps, finished=finished)

    state.device_schedule.limit(inputs.resident.spare)
    return Solve(held, tol, tick, state.device_schedule, inputs.budget, poll)


def solve_on_device(
    inputs: Inputs, state: State, tol: float, keep_time: Callable[[], None]
) -> None:
    """Solve the dual restricted to the working set on a device.

    `keep_time` is called once: the point that it looks at changes at the end. An exception ends the
    solve early; the working set is consistent then. If the memory of the device is short, the solve
    is given up.
    Sets: beta and score of the working set; before, steps, pair_steps, gave_up.
    """
    work, resident = state.work, inputs.resident
    assert resident is not None
    assert work.known is not None
    state.before = work.beta[:, work.present].copy(), work.score[work.present].copy()
    state.gave_up, state.steps = False, 0
    keep_time()
    inputs.budget.look_at_clock()
    here = work.present
    rows = resident.places(work.known.places(work.ids[here]))
    variables = variables_of(
        work.target[:, here],
        work.lower[:, here],
        work.upper[:, here],
        work.coef(),
        work.score[here],
    )
    held = resident.work(rows, variables, NEAR * state.goal.tol, work.double)
    try:
        solver(inputs, state, held, tol).run()
    except MemoryError as error:
        log.info("memory of the device is short, and the CPU solves the working set: %s", error)
        state.gave_up = True
    finally:
        put_back(work, *held.result())
