"""The observer of a fit: a log message and a progress line per round.

Engines do not print. They call an observer with each `TraceRecord`, and only this module shows
it::

    with observer(verbose, tol) as observe:
        solution = engine(..., observe)

Every record is logged at level DEBUG by the logger ``"widestreet"``. With ``verbose >= 1`` it is
also drawn::

    round 9 ━━━━━━━━━━━━━━━━  violation 2.1e-02 (tol 0.001)  SVs 2,697  12.4 s
        working set 4,096  gap (estimate) 3.4e-01  scanned 1.0M  skipped 912.3k

(on one line if the terminal is wide enough). The gap is estimated from the rows scanned so far and
can differ from that of the certificate by orders of magnitude (see `TraceRecord`). Without a
terminal, plain lines are written instead: at most one per second, or one per round with
``verbose >= 2``. The bar is logarithmic: it is half full when the violation is the geometric mean
of its first value and the tolerance.
"""

from __future__ import annotations

import logging
import math
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from widestreet._src.engines.solution import TraceRecord

__all__ = ["Observer", "ProgressBar", "observer"]

logger = logging.getLogger("widestreet")

_SHORTEST_BAR, _LONGEST_BAR = 8, 24  # columns of the terminal


class Observer(AbstractContextManager["Observer"]):
    """Log each record and, if there is a bar, draw it.

    Parameters
    ----------
    bar : ProgressBar or None, default=None
        Progress bar; None for the log only.
    """

    def __init__(self, bar: ProgressBar | None = None) -> None:
        self.bar = bar

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.__exit__(kind, error, traceback)

    def __call__(self, record: TraceRecord) -> None:
        """Observe one round.

        Parameters
        ----------
        record : TraceRecord
            Record of the round.
        """
        if record.phase == "certificate":
            logger.debug(
                "certifying: %d SVs, %.3f s", record.n_sv, record.seconds, extra={"record": record}
            )
            if self.bar is not None:
                self.bar(record)
            return
        logger.debug(
            "round %d: working set %d, %d SVs (%d free), violation %.3g, gap (estimate) %.3g, "
            "dual %.12g, scanned %d, skipped %d, %.3f s",
            record.round,
            record.working_set,
            record.n_sv,
            record.n_free,
            record.violation,
            record.gap,
            record.dual_objective,
            record.rows_scanned,
            record.rows_skipped,
            record.seconds,
            extra={"record": record},
        )
        if self.bar is not None:
            self.bar(record)


def observer(verbose: int, tol: float, problems: int = 1) -> Observer:
    """Make the observer of one fit.

    Parameters
    ----------
    verbose : int
        0: log only. 1: a progress line or, without a terminal, at most one plain line per second.
        2 and more: a plain line for every round as well.
    tol : float
        Violation at which the fit ends; 0 if it ends by another criterion.
    problems : int, default=1
        Number of problems solved in the fit.

    Returns
    -------
    Observer
        A context manager that is called with each `TraceRecord`.

    Examples
    --------
    >>> from widestreet._src.reporting.progress import observer
    >>> with observer(verbose=0, tol=1e-3) as observe:
    ...     observe.bar is None
    True
    """
    if not verbose:
        return Observer()
    return Observer(ProgressBar(tol, problems=problems, every_round=verbose >= 2))


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Progress of a fit on one line.

    Parameters
    ----------
    tol : float
        Violation at which the bar is full; 0 if the progress is unknown.
    problems : int, default=1
        Number of problems, each of which fills a part of the bar.
    every_round : bool, default=False
        If True, each round prints a plain line.
    console : rich.console.Console or None, default=None
        Console to draw on; None means the standard error stream.
    """

    def __init__(
        self,
        tol: float,
        *,
        problems: int = 1,
        every_round: bool = False,
        console: Console | None = None,
    ) -> None:
        self.tol = tol
        self.problems = problems
        self.every_round = every_round
        self._console = console
        self._live: Live | None = None
        self._record: TraceRecord | None = None
        self._first = math.nan  # the first finite violation
        self._done = 0.0  # fraction, never decreases
        self._started = 0.0
        self._printed = -math.inf  # when the last plain line was written
        self._unprinted = False

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        if self._console is None:
            self._console = Console(stderr=True)
        self._started = time.perf_counter()
        if self._console.is_terminal or self._console.is_jupyter:
            # the refresh thread keeps the clock going while native code runs
            self._live = Live(
                console=self._console, get_renderable=self._line, refresh_per_second=5
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        elif self._unprinted:
            self._print()

    def __call__(self, record: TraceRecord) -> None:
        """Draw one round.

        Parameters
        ----------
        record : TraceRecord
            Record of the round.
        """
        if self._record is None or self._record.problem != record.problem:
            self._first = math.nan
        self._record = record
        if not math.isfinite(self._first):
            self._first = record.violation
        done = record.problem + fraction(self._first, record.violation, self.tol)
        self._done = max(self._done, done / self.problems)
        self._unprinted = True
        now = time.perf_counter()
        last = record.phase == "certificate"
        if self.every_round or (self._live is None and (last or now - self._printed >= 1.0)):
            self._print()
            self._printed = now

    def _fields(self, record: TraceRecord) -> list[str]:
        """Return the fields shown for a record, with its problem if there are several."""
        head, *fields = describe(record, self.tol)
        if self.problems > 1:
            head = f"pair {record.problem + 1}/{self.problems} {head}"
        return [head, *fields]

    def _print(self) -> None:
        """Write the last record as a plain line."""
        if self._console is not None and self._record is not None:
            fields = [*self._fields(self._record), clock(self._record.seconds)]
            self._console.print("  ".join(fields), highlight=False, markup=False, soft_wrap=True)
            self._unprinted = False

    def _line(self) -> Text:
        """Return the progress line: round, bar, fields and elapsed time, in at most two lines."""
        from rich.text import Text

        elapsed = clock(time.perf_counter() - self._started)
        if self._record is None or self._console is None:
            return Text(f"starting  {elapsed}")
        head, *fields = self._fields(self._record)
        room = self._console.width - len(head) - len(elapsed) - _SHORTEST_BAR - 4
        shown: list[str] = []
        while fields and room >= len(fields[0]) + 2:
            room -= len(fields[0]) + 2
            shown.append(fields.pop(0))
        unknown = self.tol == 0 and self.problems == 1
        width = 0 if unknown else min(_SHORTEST_BAR + max(room, 0), _LONGEST_BAR)
        full = round(self._done * width)
        style = "green" if self._done >= 1 else "cyan"
        return Text.assemble(
            (head, "bold"),
            " ",
            ("━" * full, style),
            ("━" * (width - full), "bright_black"),
            *(f"  {field}" for field in shown),
            f"  {elapsed}",
            "\n    " + "  ".join(fields) if fields else "",
            overflow="ellipsis",
        )


def fraction(first: float, now: float, tol: float) -> float:
    """Return the progress of the violation from `first` to `tol`, on a logarithmic scale.

    Parameters
    ----------
    first, now : float
        First and current violation.
    tol : float
        Violation at which the fit ends.

    Returns
    -------
    float
        Between 0 and 1; 1 exactly when ``now <= tol``.

    Examples
    --------
    >>> from widestreet._src.reporting.progress import fraction
    >>> fraction(1.0, 1e-2, tol=1e-4), fraction(1.0, 1e-5, tol=1e-4), fraction(1.0, 2.0, tol=1e-4)
    (0.5, 1.0, 0.0)
    """
    if now <= tol:
        return 1.0
    if not (math.isfinite(first) and math.isfinite(now) and 0 < tol < first and now < first):
        return 0.0
    return math.log(first / now) / math.log(first / tol)


def describe(record: TraceRecord, tol: float) -> list[str]:
    """Return the fields of the line that shows `record`, the most important first.

    Parameters
    ----------
    record : TraceRecord
        One round.
    tol : float
        Violation at which the fit ends; 0 if it ends by another criterion.

    Returns
    -------
    list of str
        Fields such as ``"SVs 2,697"``.
    """
    goal = f" (tol {tol:g})" if tol > 0 else ""
    if record.phase == "certificate":
        return ["certifying", f"SVs {record.n_sv:,}", f"violation {record.violation:.1e}{goal}"]
    return [
        f"round {record.round}",
        f"violation {record.violation:.1e}{goal}",
        f"SVs {record.n_sv:,}",
        f"working set {record.working_set:,}",
        f"gap (estimate) {record.gap:.1e}",
        f"scanned {count(record.rows_scanned)}",
        f"skipped {count(record.rows_skipped)}",
    ]


def count(number: float) -> str:
    """Return a number of rows in at most six characters.

    Parameters
    ----------
    number : float
        Not negative.

    Returns
    -------
    str
        Exact below ten thousand, else with a suffix.

    Examples
    --------
    >>> from widestreet._src.reporting.progress import count
    >>> count(9_876), count(98_765), count(1_234_567), count(2_000_000_000)
    ('9,876', '98.8k', '1.2M', '2.0G')
    """
    if number < 10_000:
        return f"{number:,.0f}"
    for suffix in "kMG":
        number /= 1000
        if number < 999.95 or suffix == "G":
            break
    return f"{number:.1f}{suffix}"


def clock(seconds: float) -> str:
    """Return a duration in tenths of seconds below a minute, else as h:mm:ss.

    Parameters
    ----------
    seconds : float
        Not negative.

    Returns
    -------
    str
        The duration.

    Examples
    --------
    >>> from widestreet._src.reporting.progress import clock
    >>> clock(3.21), clock(75.0), clock(3675.0)
    ('3.2 s', '0:01:15', '1:01:15')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
