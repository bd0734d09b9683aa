"""The status of a fit."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Reason why a fit ended; each member is a string and is shown as one.

    Attributes
    ----------
    OPTIMAL
        Of an engine: it found no violation. Of a certificate: the point is proved to be the optimum
        up to the tolerances.
    TIME_LIMIT, ITERATION_LIMIT
        `max_time` or `max_iter` was reached.
    INTERRUPTED
        The user stopped the fit.
    APPROXIMATE
        The strategy or a callback ended the fit before the optimum, at the user's request.
    STALLED
        Neither the objective nor the violation improved any more.
    """

    OPTIMAL = "optimal"
    TIME_LIMIT = "time_limit"
    ITERATION_LIMIT = "iteration_limit"
    INTERRUPTED = "interrupted"
    APPROXIMATE = "approximate"
    STALLED = "stalled"

    __repr__ = str.__repr__

    @property
    def success(self) -> bool:
        """True for the statuses that need no warning."""
        return self in (Status.OPTIMAL, Status.APPROXIMATE)

    @property
    def cut_short(self) -> bool:
        """True if a limit or the user ended the fit."""
        return self in (Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED)
