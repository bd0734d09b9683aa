"""What an engine returns, and the record it keeps of every round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from widestreet._src.arrays import Floats
from widestreet._src.status import Status


@dataclass(frozen=True)
class TraceRecord:
    """One round of an engine.

    Attributes
    ----------
    round : int
    working_set : int
        Rows in the working set.
    n_sv, n_free : int
        Support vectors of the whole model, and those of the working set strictly inside their box.
    violation : float
        Largest violation of the optimality conditions seen in this round.
    dual_objective : float
    gap : float
        An estimate of the duality gap from the rows seen so far: skipped rows enter with their last
        known scores, and the sum is extrapolated where not every row was visited. It may be
        negative, and it can differ by orders of magnitude from `certificate_.gap`, which is
        computed over all rows at the end.
    rows_scanned, rows_skipped : int
        Rows outside the working set whose score was computed, and those too far from violating to
        be worth it; the certificate looks at these too.
    kernel_values : int
        Kernel values computed since the start.
    pair_steps : int
        Steps of sequential minimal optimisation since the start.
    seconds : float
        Since the start.
    timings : dict
        Seconds spent in the parts of this round.
    problem : int
        Which of the problems between two classes, in the order of `intercept_`.
    violators : int
        Rows outside the working set that were found to violate the optimality conditions.
    notes : dict
        What the strategy says about the round; its docstring has the names.
    """

    round: int
    working_set: int
    n_sv: int
    n_free: int
    violation: float
    dual_objective: float
    gap: float
    rows_scanned: int
    rows_skipped: int
    kernel_values: int
    pair_steps: int
    seconds: float
    timings: dict[str, float] = field(default_factory=dict)
    problem: int = 0
    violators: int = 0
    notes: dict[str, Any] = field(default_factory=dict)


Observer: TypeAlias = Callable[[TraceRecord], None]


class Trace(list[TraceRecord]):
    """The records of a fit, in order."""

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} records: to_frame() makes a table>"

    def to_frame(self) -> Any:
        """Return the records as a pandas DataFrame, one row per round.

        The parts of `timings` become columns named `seconds_<part>`, and so do the `notes` under
        their own names.
        """
        import pandas as pd

        rows = []
        for record in self:
            row = asdict(record)
            row |= row.pop("notes")
            row |= {f"seconds_{part}": value for part, value in row.pop("timings").items()}
            rows.append(row)
        return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class Solution:
    """A point of the dual and how it was reached.

    Attributes
    ----------
    beta : ndarray of shape (layers, n)
    bias : ndarray of shape (groups,)
        The engine's own, from the working set.
    dual_objective : float
        The engine's own, added up step by step.
    status : Status
        Why the engine stopped: "optimal" when it found nothing left to improve (whether that is
        so is for the certificate to say), "time_limit", "iteration_limit", "interrupted",
        "stalled" or "approximate".
    trace : Trace
    pair_steps, kernel_values : int
    """

    beta: Floats
    bias: Floats
    dual_objective: float
    status: Status
    trace: Trace
    pair_steps: int
    kernel_values: int
