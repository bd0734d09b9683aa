"""Limits of a fit: seconds, pair steps and memory."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral, Real

from widestreet._src.checks import shown
from widestreet._src.resources import memory
from widestreet._src.status import Status

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip


_BETWEEN_LOOKS = 0.2  # seconds that may pass before the end of the time for rounds is noticed
_MOST_BETWEEN_LOOKS = 0.05  # of all time
_UNFORESEEN = 0.01  # of all time, which other programs may take while a certificate is computed
_WORTH_GOING_ON = 0.1  # of all time: with more left, rounds continue
_NO_PAUSE = 2**62  # pair steps
_LEAST_SECONDS = 1e-9  # a limit of zero would be none at all to a reader


class OutOfBudget(Exception):  # noqa: N818 - it is a normal way to stop, not an error
    """Raised inside an engine when time or steps are used up."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


@dataclass
class Budget:
    """Limits on the time and the pair steps of one fit.

    Parameters
    ----------
    max_time : float or None
        Limit on seconds, including those reserved for the certificate.
    max_steps : int
        Limit on pair steps; -1 means no limit.
    """

    max_time: float | None = None
    max_steps: int = -1
    reserve: float = 0.0  # seconds reserved for the certificate
    affordable: bool = False  # whether the time has ever sufficed for a certificate
    stopped: bool = False  # by another thread: treated like an interrupt
    _begun: float = field(default_factory=lambda: time.perf_counter())
    _steps: int = 0
    _pause: int = _NO_PAUSE  # pair steps after which work is put to another engine
    _may_pause: Callable[[], bool] = lambda: True
    _whole: Budget | None = None  # of which this one counts the pair steps of a part

    def __reduce__(self) -> tuple[type[Budget], tuple[float | None, int, float, bool, bool]]:
        steps, left = self.max_steps if self.max_steps < 0 else self.steps_left, self.remaining()
        return Budget, (left, steps, self.reserve, self.affordable, self.stopped)  # clocks differ

    @property
    def elapsed(self) -> float:
        """Seconds since the budget was created."""
        return time.perf_counter() - self._begun

    @property
    def steps_left(self) -> int:
        """Number of pair steps left."""
        limit = self._pause if self.max_steps < 0 else min(self.max_steps, self._pause)
        return max(0, limit - self._steps)

    @contextmanager
    def pausing(self, steps: int, when: Callable[[], bool] = lambda: True) -> Iterator[None]:
        """Limit the pair steps within the context; `spend` then raises OutOfBudget with "stalled".

        When the limit is reached, `when` is called; if it returns False, the limit ends.
        Sets: the limit, until the context ends.
        """
        before = self._pause, self._may_pause
        self._pause, self._may_pause = self._steps + steps, when
        try:
            yield
        finally:
            self._pause, self._may_pause = before

    def remaining(self, reserve: float = 0.0) -> float | None:
        """Return the seconds that are left, less a reserve; None if there is no limit."""
        if self.max_time is None:
            return None
        return max(0.0, self.max_time - self.elapsed - reserve)

    def part(
        self, share: float = 1.0, *, reserve: float = 0.0, least: float = 0.0, max_steps: int = -1
    ) -> Budget:
        """Return the budget of a part of the work.

        Parameters
        ----------
        share : float
            Fraction of the remaining time.
        reserve : float
            Seconds reserved for later work.
        least : float
            Smallest number of seconds, if so many are left.
        max_steps : int
            Limit on pair steps; -1 means no limit.
        """
        seconds = left = self.remaining(reserve)
        if left is not None:
            seconds = max(_LEAST_SECONDS, min(left, max(least, left * share)))
        return Budget(seconds, max_steps, stopped=self.stopped)

    def beside(self) -> Budget:
        """Return a budget with the same clock for a solve beside others.

        Its pair steps are counted apart, without a limit. A stop of this budget stops it.
        """
        return replace(self, max_steps=-1, _steps=0, _pause=_NO_PAUSE, _whole=self)

    def keep_back(self, seconds: float, least: float = 0.0, *, measured: bool = True) -> None:
        """Reserve time for the certificate. Sets: reserve, affordable.

        Parameters
        ----------
        seconds : float
            What the certificate needs.
        least : float
            What is reserved if the time has never sufficed for a certificate, up to half of all.
        measured : bool
            If False, `seconds` is a first guess: up to half of the time that is left is reserved.
        """
        if self.max_time is not None:
            between = min(_BETWEEN_LOOKS, _MOST_BETWEEN_LOOKS * self.max_time)
            seconds += between + _UNFORESEEN * self.max_time
            left = self.max_time - self.elapsed
            self.affordable |= seconds <= left
            if not measured and seconds > 0.5 * left:
                self.reserve = max(0.0, 0.5 * left)
                return
            self.reserve = seconds if self.affordable else min(least, 0.5 * self.max_time)

    @property
    def worthwhile(self) -> bool:
        """True if at least a tenth of `max_time` is left for rounds."""
        left = self.remaining(self.reserve)
        return left is not None and left >= _WORTH_GOING_ON * (self.max_time or 0.0)

    def look_for_stop(self) -> None:
        """Raise KeyboardInterrupt if stopped, whatever time is left."""
        if self.stopped:
            raise KeyboardInterrupt
        if self._whole is not None:
            self._whole.look_for_stop()

    def look_at_clock(self) -> None:
        """Raise OutOfBudget if the time for rounds is over, KeyboardInterrupt if stopped."""
        self.look_for_stop()
        if self.max_time is not None and self.elapsed + self.reserve > self.max_time:
            raise OutOfBudget(Status.TIME_LIMIT)

    def look_at_end(self, reserve: float = 0.0) -> None:
        """Raise OutOfBudget if all time but a reserve is over, KeyboardInterrupt if stopped."""
        self.look_for_stop()
        if self.max_time is not None and self.elapsed + reserve > self.max_time:
            raise OutOfBudget(Status.TIME_LIMIT)

    def spend(self, steps: int, *, finished: bool) -> None:
        """Count pair steps; raise OutOfBudget if none are left and work remains."""
        self._steps += steps
        if not finished and self.steps_left == 0:
            over = 0 <= self.max_steps <= self._steps
            if not over and not self._may_pause():
                self._pause = _NO_PAUSE
                return
            raise OutOfBudget(Status.ITERATION_LIMIT if over else Status.STALLED)


def status_of(work: Callable[[], Status | None]) -> Status | None:
    """Return the status of a part of the work: its result, or the reason why it was stopped."""
    try:
        return work()
    except OutOfBudget as stop:
        return stop.status
    except KeyboardInterrupt:
        return Status.INTERRUPTED


def parse_memory(value: int | float | str | None) -> int:
    """Return bytes from a number or from a string such as "500MB", "2GB", "1.5 GiB".

    None means a quarter of the memory that this process may use.
    """
    if value is None:
        available = memory()
        return 2 * 10**9 if available is None else available // 4
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*", value)
        if match and match[2].upper() in _UNITS:
            value = float(match[1]) * _UNITS[match[2].upper()]
    if isinstance(value, bool | str) or not isinstance(value, Integral | Real):
        number = -1.0
    else:
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
    if not 0 < number < float("inf"):
        raise ValueError(
            "max_memory must be a positive number of bytes or a string such as '2GB', "
            f"got {shown(value)}"
        )
    return int(number)
