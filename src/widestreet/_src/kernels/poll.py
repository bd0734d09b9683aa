"""What a long computation asks in between: whether to go on, and how much has been done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> None:
    """Go on."""


@dataclass(eq=False)
class Poll:
    """Looks at the clock between native calls, and counts kernel values.

    One piece of work has one poll, wherever its kernel values are computed.

    Attributes
    ----------
    look : callable
        Called between native calls, about every tenth of a second; may raise to stop the work.
    kernel_values : int
        Kernel values computed so far.
    """

    look: Callable[[], None] = _nothing
    kernel_values: int = 0
