"""The solution that an engine returns, and its trace: one record per round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

from widestreet._src.arrays import Floats
from widestreet._src.shards.point import Point
from widestreet._src.status import Status


@dataclass(frozen=True)
class TraceRecord:
    """Record of one round of an engine.

    Attributes
    ----------
    round : int
        Number of the round.
    working_set : int
        Number of rows in the working set.
    n_sv, n_free : int
        Number of support vectors of the model, and of working-set rows strictly inside their box.
    violation : float
        Largest violation of the optimality conditions found in this round.
    dual_objective : float
        Objective of the dual problem. If the starting point has more than 4,096 support vectors,
        that of the start is estimated from some of them, until a check computes it.
    gap : float
        Estimate of the duality gap from the rows scanned so far. Skipped rows enter with their last
        known scores, and the sum is extrapolated to rows that were not scanned. The estimate may be
        negative, and it can differ by orders of magnitude from `certificate_.gap`, which is
        computed over all rows at the end.
    rows_scanned, rows_skipped : int
        Number of rows outside the working set whose score was computed, and of rows skipped because
        they are far from violating. The certificate examines all of them.
    kernel_values : int
        Number of kernel values computed since the start.
    pair_steps : int
        Number of steps of sequential minimal optimisation since the start.
    seconds : float
        Seconds since the start.
    timings : dict
        Seconds spent in the parts of this round. The last record of a fit also has what came after
        it: the part "certificate" is the last examination of all rows.
    problem : int
        Index of the pair of classes, in the order of `intercept_`.
    violators : int
        Number of rows outside the working set that violate the optimality conditions.
    notes : dict
        Further values recorded by the strategy; its docstring lists them.
    phase : str
        "round"; "certificate" for the record that announces the last examination to observers,
        which has the figures of the last round and is not in the trace.
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
    phase: str = "round"


Observer: TypeAlias = Callable[[TraceRecord], None]


class Trace(list[TraceRecord]):
    """List of the records of a fit, one `TraceRecord` per round."""

    def __repr__(self) -> str:
        count = "1 record" if len(self) == 1 else f"{len(self)} records"
        return f"<Trace of {count}: to_frame() returns a DataFrame>"

    def add(self, timings: dict[str, float]) -> None:
        """Add seconds to the parts of the last record. Sets: the last record."""
        last = self[-1]
        every = last.timings | {
            part: seconds + last.timings.get(part, 0.0) for part, seconds in timings.items()
        }
        self[-1] = replace(last, timings=every)

    def to_frame(self) -> Any:
        """Return the records as a pandas DataFrame, one row per round.

        Each part of `timings` becomes a column `seconds_<part>`, and each of the `notes` a column
        of its own name.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs the package pandas: pip install 'widestreet[cli]'"
            ) from error
        rows = []
        for record in self:
            row = asdict(record)
            row |= row.pop("notes")
            del row["phase"]
            row |= {f"seconds_{part}": value for part, value in row.pop("timings").items()}
            rows.append(row)
        known = [
            one.name for one in fields(TraceRecord) if one.name not in ("notes", "phase", "timings")
        ]
        return pd.DataFrame(rows) if rows else pd.DataFrame(columns=known)


@dataclass(frozen=True, eq=False)
class Solution:
    """Point of the dual at which an engine ended.

    Attributes
    ----------
    point : Point
        The coefficients that are not zero.
    rows : int
        Number of rows of the dual.
    bias : ndarray of shape (groups,)
        Biases computed by the engine from the working set.
    dual_objective : float
        Objective computed by the engine, summed step by step.
    status : Status
        Reason why the engine stopped. "optimal" means that it found no violation; the certificate
        verifies this.
    trace : Trace
    pair_steps, kernel_values : int
    """

    point: Point
    rows: int
    bias: Floats
    dual_objective: float
    status: Status
    trace: Trace
    pair_steps: int
    kernel_values: int

    @cached_property
    def beta(self) -> Floats:
        """The coefficients of all rows, of shape (layers, n)."""
        return self.point.dense(self.rows)
