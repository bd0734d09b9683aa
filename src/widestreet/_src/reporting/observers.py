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
        """True if there are callbacks."""
        ...

    def problem(self, name: str) -> AbstractContextManager[None]:
        """Return a context in which one problem is solved."""
        ...

    def __call__(self, record: TraceRecord) -> bool:
        """Report a round; return True if a callback asks to stop the problem."""
        ...


class Observers:
    """Pass each record of each problem to the log, the progress bar and the callbacks.

    Parameters
    ----------
    verbose : int
    tol : float
    reporter : Reporter
    names : sequence of str
        Names of the problems.
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
        """Pass on the only record of a problem that was solved before."""
        if not self.in_order:  # without callbacks there are no tasks to begin and end
            with self._lock:
                self._observer(record)
            return
        with self.problem(record.problem) as observe:
            observe(record)

    def again(self, number: int) -> Observer:
        """Return a function to call with each record of a problem that is solved once more.

        Callbacks do not see these records: their task of the problem has ended.
        """

        def look(record: TraceRecord) -> None:
            with self._lock:
                self._observer(replace(record, problem=number))

        return look

    @contextmanager
    def problem(self, number: int = 0) -> Iterator[Observer]:
        """Solve one problem within the block; yield a function to call with each record.

        If a callback asks to stop, the fit ends with status "approximate".
        """

        def look(record: TraceRecord) -> None:
            mine = record if record.problem == number else replace(record, problem=number)
            with self._lock:
                self._observer(mine)
            if record.phase == "round" and self._reporter(record):
                raise OutOfBudget(Status.APPROXIMATE)

        with self._reporter.problem(self._names[number]):
            yield look
