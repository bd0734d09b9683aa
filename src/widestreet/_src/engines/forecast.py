"""Forecast of the time that the certificate of a point takes.

An examination of n rows against s support vectors scores the rows in float32, if the kernel has a
bound on the error (RBF), and those in doubt again in float64. With few features interpolation
takes the place of float32. The seconds per kernel value are those that the fit has measured. After
the first examination, its own seconds per row and support vector replace this count. For a linear
kernel the terms of one vector are counted instead.

Other programs may make the machine slower, or faster again. A few kernel values are therefore
computed from time to time, and once more before the time for rounds is over. All forecasts follow
the last of these measurements.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from widestreet._src.certificate import FLOAT64_FRACTION
from widestreet._src.engines.budget import Budget
from widestreet._src.kernels.gram import interpolated, is_symmetric
from widestreet._src.kernels.kernels import RBF, Linear
from widestreet._src.shards.shard_set import ShardSet

SAMPLED_ROWS = 512  # of the support vectors, and of the others, for an estimate of the gap
LEAST_SAMPLED_ROWS = 128  # the same, if there is no time left at all
_FLOAT64_VALUE = 2.5  # seconds of a float64 kernel value in units of one of float32, until measured
_PROBED_VALUES = 20_000_000  # kernel values from which the seconds of one of float64 are measured
_LONGER = 10  # times as many values in the next measurement: threads need some time to begin
_LARGEST_PART = 0.005  # of the time limit: a longer measurement is left out
_EVERY = 0.05  # of the time limit, between two measurements with the same support vectors
_LEAST_PAUSE = 100.0  # times the seconds of a measurement, until the next
_LEAST_PART = 0.5  # of the kernel values of a measurement that must be computed
_SAME = 1.5  # largest ratio of two measurements of the same kernel values by chance
_LEAST_MEASURED = 0.1  # seconds of kernel values from which their mean is no first guess
_LEAST_VALUES = 50_000_000  # rows times support vectors of an examination that is measured
_SECONDS_PER_ROW = 1e-6  # for sums over rows and their variables, beside kernel values
_SECONDS_PER_TERM = 1e-8  # of a sum with nearly all digits
_SAFETY = 1.2  # factor of all forecasts
_LEAST_TIME = 0.6  # of a forecast: with less time left, no examination begins
_SAFETY_IF_UNMEASURED = 1.5  # further factor, if not even a float64 value was measured


@dataclass(eq=False)
class Forecast:
    """Forecasts of the seconds of an examination.

    Attributes
    ----------
    measured : float
        Largest number of seconds per row and support vector of an examination so far, without
        short ones, at the pace of the last measurement; zero before the first.
    exact : float
        Seconds of a float64 kernel value; zero if they were not measured.
    probed : int
        Number of support vectors when they were measured.
    """

    measured: float = 0.0
    exact: float = 0.0
    probed: int = 0
    _short: float = 0.0  # seconds of a float64 value in a short measurement
    _next: float = -inf  # when kernel values are measured again

    def learn(self, seconds: float, rows: int, support: int) -> None:
        """Learn from an examination, unless it was too short to tell. Sets: measured."""
        if rows * support >= _LEAST_VALUES:
            scanning = max(0.0, seconds - rows * _SECONDS_PER_ROW)
            self.measured = max(self.measured, scanning / (rows * support))

    def measure(self, shards: ShardSet, budget: Budget, *, now: bool = False) -> None:
        """Probe the shards of a fit with a time limit, also if the time for rounds is over.

        Sets: everything.
        """
        if budget.max_time is None or budget.remaining() == 0:
            return
        look = budget.look_at_end if now else budget.look_at_clock
        outer = shards.poll
        with shards.polling(replace(outer, look=look)) as poll:
            try:
                self.probe(shards, budget.max_time, now=now)
            finally:
                outer.kernel_values = poll.kernel_values

    def keep_back(
        self,
        shards: ShardSet,
        budget: Budget,
        support: int,
        doubtful: float = 1.0,
        changed: int | None = None,
        *,
        now: bool = False,
    ) -> None:
        """Reserve the time of an examination, with the arguments of `seconds`, or of an estimate.

        If `now`, the pace was measured a moment ago. An examination for which the time will not
        suffice is given up then. A forecast without any measurement ends no fit: the first kernel
        values may take several times as long as later ones. Sets: budget.
        """
        seconds, left = self.seconds(shards, support, doubtful, changed), budget.remaining()
        if now and left is not None and left < _LEAST_TIME * seconds:
            budget.affordable = False
        measured = self.exact > 0 or self.measured > 0 or shards.news.rows is not None
        measured = measured or shards.known.gram.pace.seconds >= _LEAST_MEASURED
        budget.keep_back(seconds, self.sample_seconds(shards, support), measured=measured)

    def probe(self, shards: ShardSet, limit: float = 0.0, *, now: bool = False) -> None:
        """Measure a float64 kernel value by scores of some rows. Sets: everything.

        They are measured again with twice as many support vectors, until an examination measures
        its own, and from time to time. Rows on disk or on a cluster are not probed: a few of them
        take as long as many.

        Parameters
        ----------
        shards : ShardSet
        limit : float
            Seconds of the fit. Longer measurements take a small part of them.
        now : bool
            If True, measure whatever was measured before.
        """
        support = len(shards.news.expansion.ids)
        if support == 0 or shards.news.rows is not None:
            return
        more = support >= 2 * self.probed and self.measured == 0
        if not (more or now or time.perf_counter() >= self._next):
            return
        found = self._measured(shards, support, _PROBED_VALUES, limit)
        if found == 0.0:
            return
        ratio = found / self._short if self._short > 0 else 1.0
        if not (more or now) and 1.0 / _SAME < ratio < _SAME:
            return
        self._short, exact = found, self.exact * ratio or found
        exact = self._measured_longer(shards, support, found, limit) or exact
        if self.exact > 0:
            self.measured *= exact / self.exact
        self.exact, self.probed = exact, support

    def _measured(self, shards: ShardSet, support: int, values: int, limit: float) -> float:
        """Return the seconds of so many float64 values, each; zero if not so many are computed.

        That is so if there are few rows, or if scores are known. Sets: the time of the next
        measurement.
        """
        rows = min(shards.rows, values // support)
        if not shards.rows > rows > 0:
            return 0.0
        begun, before = time.perf_counter(), shards.poll.kernel_values
        shards.scores(np.linspace(0, shards.rows - 1, rows).astype(np.int64))
        end, computed = time.perf_counter(), shards.poll.kernel_values - before
        self._next = end + max(_EVERY * limit, _LEAST_PAUSE * (end - begun))
        return (end - begun) / computed if computed > _LEAST_PART * rows * support else 0.0

    def _measured_longer(self, shards: ShardSet, support: int, found: float, limit: float) -> float:
        """Return the seconds of a value among so many more that they become no shorter.

        A device takes as long for few values as for many. The result is zero if there is no time
        for more, or if there are too few rows. Sets: the time of the next measurement.
        """
        values, best = _PROBED_VALUES, 0.0
        while _LONGER * found * values <= _LARGEST_PART * limit:
            values, before = _LONGER * values, found
            found = self._measured(shards, support, values, limit)
            if found == 0.0:
                break
            best = found
            if before < _SAME * found:
                break
        return best

    def seconds(
        self, shards: ShardSet, support: int, doubtful: float = 1.0, changed: int | None = None
    ) -> float:
        """Return the seconds of an examination of all rows.

        Parameters
        ----------
        shards : ShardSet
        support : int
            Number of support vectors.
        doubtful : float
            Fraction of the rows that are scored in float64.
        changed : int, optional
            Number of coefficients that changed since the last examination, if there was one. It
            updates scores by them where they are fewer.
        """
        if isinstance(shards.kernel, Linear):
            return _SAFETY * self._seconds_of_linear(shards, support)
        pace, safety, shared = self.measured, _SAFETY, 0.0
        if pace > 0 and changed is not None:
            support = min(support, changed)
        if pace == 0:
            safety *= 1.0 if self.exact else _SAFETY_IF_UNMEASURED
            pace = self._pace(shards)
            if len(shards.port.sizes) == 1 and is_symmetric(shards.known.gram, support):
                shared = 0.5 * pace * support**2
            if doubtful <= FLOAT64_FRACTION and isinstance(shards.kernel, RBF):
                pace = self._rough_pace(shards, support) + doubtful * pace
        return safety * (shards.rows * (_SECONDS_PER_ROW + pace * support) - shared)

    def _seconds_of_linear(self, shards: ShardSet, support: int) -> float:
        """Return the seconds of an examination for a linear kernel: one vector has all scores."""
        terms = shards.known.gram.cost * (shards.rows + support)
        return shards.rows * _SECONDS_PER_ROW + _SECONDS_PER_TERM * terms

    def _pace(self, shards: ShardSet) -> float:
        """Return the seconds of a float64 kernel value."""
        if self.exact > 0 or shards.news.double:  # then surveys compute float64, too
            return self.exact or shards.seconds_per_value
        return _FLOAT64_VALUE * shards.seconds_per_value

    def _rough_pace(self, shards: ShardSet, support: int) -> float:
        """Return the seconds of scores in float32, for each row and support vector."""
        pace = self._pace(shards)
        values = interpolated(shards.known.gram, shards.rows, support)
        if values is not None:
            return pace * values / (shards.rows * support)
        return min(shards.seconds_per_value, pace)

    def sample_seconds(self, shards: ShardSet, support: int, rows: int = SAMPLED_ROWS) -> float:
        """Return the seconds of an estimate of the gap from samples of so many rows."""
        return _SAFETY * self._pace(shards) * 2.0 * rows * support
