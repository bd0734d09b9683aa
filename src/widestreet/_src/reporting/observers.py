"""Observers of a fit: the log, a progress bar, and the callbacks of an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from threading import Lock
from types import TracebackType
from typing import Protocol

from widestreet._src.engines.budget import OutOfBudget
from widestreet._src.engines.solution import Observer, TraceRecord
from widestreet._src.reporting.progress import observer
from widestreet._src.status import Status


class Reporter(Protocol):
    """Reports rounds to the callbacks of an estimator."""

    @property
    def active(self) -> bool:
        """Whether there are callbacks."""
        ...

    def problem(self, name: str) -> AbstractContextManager[None]:
        """Return a context in which one problem is solved."""
        ...

    def __call__(self, record: TraceRecord) -> bool:
        """Report a round; return whether the problem is to end here."""
        ...


class Observers:
    """Hand each record of each problem to all observers.

    Parameters
    ----------
    verbose : int
    tol : float
    reporter : Reporter
    names : sequence of str
        Of the problems, one of which is solved in a single fit.
    """

    def __init__(
        self, verbose: int, tol: float, reporter: Reporter, names: Sequence[str] = ("",)
    ) -> None:
        self._observer = observer(verbose, tol, len(names))
        self._reporter, self._names = reporter, names
        self._lock = Lock()
        self.in_order = reporter.active  # callbacks see one problem at a time

    def __enter__(self) -> Observers:
        self._observer.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._observer.__exit__(kind, error, traceback)

    def tell(self, record: TraceRecord) -> None:
        """Hand on the only record of a problem that was solved beforehand."""
        if not self.in_order:  # nobody wants to know where a problem begins and ends
            with self._lock:
                self._observer(record)
            return
        with self.problem(record.problem) as observe:
            observe(record)

    @contextmanager
    def problem(self, number: int = 0) -> Iterator[Observer]:
        """Within the block, one problem is solved; what it gives is called with each record.

        A callback that wants to stop gets what it asked for: status "approximate".
        """

        def look(record: TraceRecord) -> None:
            mine = record if record.problem == number else replace(record, problem=number)
            with self._lock:
                self._observer(mine)
            if self._reporter(record):
                raise OutOfBudget(Status.APPROXIMATE)

        with self._reporter.problem(self._names[number]):
            yield look
