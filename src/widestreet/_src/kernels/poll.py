"""Poll of a long computation: it may be stopped, and its kernel values are counted and timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

_REMEMBERED = 0.5  # seconds of earlier kernel values that count beside the next ones


def _nothing() -> None:
    """Do nothing: the work continues."""


@dataclass(eq=False)
class Poll:
    """Callback between native calls, and counter of kernel values.

    Each task has one poll, which is passed to all functions that compute its kernel values.

    Attributes
    ----------
    look : callable
        Function called between native calls, about every tenth of a second; it may raise to stop
        the work.
    kernel_values : int
        Number of kernel values computed so far.
    """

    look: Callable[[], None] = _nothing
    kernel_values: int = 0


@dataclass
class Pace:
    """Number of the kernel values computed last, and the seconds that they took.

    Earlier ones count less and less: the machine may have become slower since, or faster.
    """

    seconds: float = 0.0
    values: float = 0.0

    def count(self, values: int, begun: float, poll: Poll | None) -> None:
        """Count kernel values whose computation began at `begun`. Sets: everything, poll."""
        if self.seconds > _REMEMBERED:
            self.values *= _REMEMBERED / self.seconds
            self.seconds = _REMEMBERED
        self.seconds += time.perf_counter() - begun
        self.values += values
        if poll is not None:
            poll.kernel_values += values
