"""Why an engine stopped, and what a certificate says about the result."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a fit ended; each member is a string and is shown as one.

    Attributes
    ----------
    OPTIMAL
        An engine found nothing left to improve; in a certificate: the point is proved to be the
        optimum up to the tolerances.
    TIME_LIMIT, ITERATION_LIMIT
        `max_time` or `max_iter` was reached.
    INTERRUPTED
        The user stopped the fit.
    APPROXIMATE
        The strategy or a callback ended the fit before the optimum, as asked for.
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
        """Whether the result is what was asked for."""
        return self in (Status.OPTIMAL, Status.APPROXIMATE)

    @property
    def cut_short(self) -> bool:
        """Whether a limit or the user ended the fit."""
        return self in (Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED)
