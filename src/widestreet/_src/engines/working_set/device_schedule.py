"""Schedule of Newton steps between blocks of pair steps on a device.

A Newton step is due when the pair steps since the last one have taken as long as it will, times a
factor that falls while Newton steps are useful. Times are those of an H200 and its host: the
clock is not read, so that equal fits are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt

import numpy as np

from widestreet._src.device.contract import Look
from widestreet._src.engines.working_set.block_on_host import Patience

_LEAST_STEPS, _MOST_STEPS = 200, 8000  # pair steps of a block
_LARGEST_NEWTON = 8192  # rows of a Newton step
_FEW_ROWS, _RARE = 512, 4.0  # the host takes Newton steps on few rows: others are rare
_BYTES_PER_PAIR = 64  # of its kernel matrix, factors and points: float64, at most eight copies
_CROWDED = 4  # violators per free row, beyond which pair steps are better
_FIRST_FACTOR, _LEAST_FACTOR, _MOST_FACTOR = 1.4, 0.2, 8.0  # of the time of a Newton step
_USEFUL = 0.6  # a Newton step is useful if the violation falls below this part by the next one
_FIRST_PASSES = 6.0
_NEWTON_SECONDS, _PASS_SECONDS = 1e-3, 4e-4  # of a Newton step and of a pass, whatever its size

_HOST_SECONDS = 7e-4  # of a block on the host, whatever its size and steps


def _step_seconds(rows: int) -> float:
    """Return the time of a pair step in a block of so many rows on the device."""
    return 1e-6 * (1.0 if rows <= 256 else 1.3 if rows <= 512 else 1.6 if rows <= 1024 else 2.0)


@dataclass
class DevicePacing:
    """Time of the pair steps so far, and of the next Newton step."""

    factor: float = _FIRST_FACTOR
    passes: float = _FIRST_PASSES  # factorisations that a Newton step usually takes
    spent: float = 0.0  # seconds of pair steps since the last one
    last: float = np.inf  # violation at the last one
    largest: int = _LARGEST_NEWTON  # rows of a Newton step
    steps_of_block: int = 0  # in the last block
    patience: Patience = field(default_factory=Patience)  # on the host

    def limit(self, memory: int) -> None:
        """Limit Newton steps to so many bytes of scratch. Sets: largest."""
        self.largest = min(_LARGEST_NEWTON, isqrt(memory // _BYTES_PER_PAIR))

    def begin(self) -> None:
        """Start with a new working set. Sets: spent, last."""
        self.spent, self.last = 0.0, np.inf

    def cost(self, look: Look) -> float:
        """Return the time that pair steps may take before a Newton step."""
        size = look.free + look.violators
        if size > self.largest or look.violators > _CROWDED * look.free:
            return np.inf
        seconds = _NEWTON_SECONDS + self.passes * (_PASS_SECONDS + 6.2e-7 * size + 9e-11 * size**2)
        return seconds * self.factor * (_RARE if size <= _FEW_ROWS else 1.0)

    def allowed(self, look: Look, rows: int) -> int:
        """Return the number of pair steps of the next block."""
        left = (self.cost(look) - self.spent) / _step_seconds(rows)
        return int(min(_MOST_STEPS, max(_LEAST_STEPS, left)))

    def spend(self, steps: int, rows: int, blocks: int = 1) -> None:
        """Count pair steps of blocks on the device. Sets: spent, steps_of_block."""
        self.steps_of_block = steps // blocks
        self.spent += steps * _step_seconds(rows) + 2e-4

    def spend_on_host(self, steps: int, rows: int) -> None:
        """Count pair steps of a block on the host. Sets: spent, steps_of_block."""
        self.steps_of_block = steps
        self.spent += _HOST_SECONDS + steps * (3e-7 + 5e-10 * rows) + 1e-10 * rows**2

    def due(self, look: Look) -> bool:
        return self.spent > self.cost(look)

    def took(self, violation: float, passes: int) -> None:
        """Learn from a Newton step. Sets: everything."""
        useful = violation < _USEFUL * self.last
        self.factor = max(_LEAST_FACTOR, 0.5 * self.factor) if useful else 2.0 * self.factor
        self.factor = min(self.factor, _MOST_FACTOR)
        self.passes = 0.7 * self.passes + 0.3 * passes
        self.last, self.spent = violation, 0.0
