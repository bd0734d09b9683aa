"""Forecast of the time that the certificate of a point takes.

An examination of n rows against s support vectors scores the rows in float32, if the kernel has a
bound on the error (RBF), and those in doubt again in float64. The seconds per kernel value are
those that the fit has measured. After the first examination, its own seconds per row and support
vector replace this count.
"""

from __future__ import annotations

from dataclasses import dataclass

from widestreet._src.certificate import FLOAT64_FRACTION
from widestreet._src.kernels.kernels import RBF
from widestreet._src.shards.shard_set import ShardSet

SAMPLED_ROWS = 512  # of the support vectors, and of the others, for an estimate of the gap
_FLOAT64_VALUE = 3.0  # seconds of a float64 kernel value, in units of one of float32
_SECONDS_PER_ROW = 1e-6  # for sums over rows and their variables, beside kernel values
_SAFETY = 1.2  # factor of all forecasts


@dataclass(eq=False)
class Forecast:
    """Forecasts of the seconds of an examination.

    Attributes
    ----------
    measured : float
        Largest number of seconds per row and support vector of an examination so far; zero before
        the first.
    """

    measured: float = 0.0

    def learn(self, seconds: float, rows: int, support: int) -> None:
        """Learn from an examination. Sets: measured."""
        scanning = max(0.0, seconds - rows * _SECONDS_PER_ROW)
        self.measured = max(self.measured, scanning / max(1, rows * support))

    def seconds(self, shards: ShardSet, support: int, doubtful: float = 1.0) -> float:
        """Return the seconds of an examination of all rows.

        Parameters
        ----------
        shards : ShardSet
        support : int
            Number of support vectors.
        doubtful : float
            Fraction of the rows that are scored in float64.
        """
        pace = self.measured
        if pace == 0:
            passes = 1.0 + _FLOAT64_VALUE * doubtful
            if shards.news.double:  # then a measured value is one of float64
                passes = 1.0
            elif doubtful > FLOAT64_FRACTION or not isinstance(shards.kernel, RBF):
                passes = _FLOAT64_VALUE
            pace = passes * shards.seconds_per_value
        return _SAFETY * shards.rows * (_SECONDS_PER_ROW + pace * support)

    @staticmethod
    def sample_seconds(shards: ShardSet, support: int, rows: int = SAMPLED_ROWS) -> float:
        """Return the seconds of an estimate of the gap from samples of so many rows."""
        values = 2.0 * rows * support
        return _SAFETY * _FLOAT64_VALUE * shards.seconds_per_value * values
