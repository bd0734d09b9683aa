"""Estimate of the duality gap from a random sample of the rows.

The gap is a sum over rows of terms that are not negative (gap_terms.py). The rows are divided into
two strata: support vectors, and rows with a zero coefficient. The sum over a stratum of N rows is
estimated by N times the mean of a random sample of m of them, drawn without replacement. The
interval is the normal approximation of 95 % confidence,

    estimate +- 1.96 sqrt( sum over strata of N^2 (1 - m / N) s^2 / m ),

where s^2 is the variance of the sample. If all terms of a sample are zero, so is s^2; with the same
confidence at most 3 N / m rows of the stratum have a larger one, and each of these is taken to be
as large as the largest violation that the fit has seen makes it. The interval is no proof: large
terms of other rows are not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

from widestreet._src.arrays import Floats

_QUANTILE = 1.959964  # of the normal distribution, for an interval of 95 %
_UNSEEN = 3.0  # -log(0.05): expected number of rows of a kind of which none was drawn, at most


@dataclass(frozen=True, eq=False)
class Stratum:
    """Rows of one kind, some of which were drawn.

    Attributes
    ----------
    rows : int
        Number of rows.
    terms : ndarray
        Terms of the rows that were drawn.
    largest : float
        Term of a row with the largest violation that is expected.
    """

    rows: int
    terms: Floats
    largest: float = 0.0


@dataclass(frozen=True)
class GapEstimate:
    """Estimate of the relative duality gap from a sample of the rows; not a proof.

    Attributes
    ----------
    relative_gap : float
    interval : tuple of float
        Approximate confidence interval of 95 %.
    n_rows : int
        Number of rows in the sample.
    pass_seconds : float
        Seconds that an examination of all rows would take, estimated.
    """

    relative_gap: float
    interval: tuple[float, float]
    n_rows: int
    pass_seconds: float


def estimate(strata: Sequence[Stratum], dual: float, pass_seconds: float) -> GapEstimate | None:
    """Return the estimate of the relative gap; None if it is not finite.

    Parameters
    ----------
    strata : sequence of Stratum
    dual : float
        Dual objective.
    pass_seconds : float
    """
    gap = variance = unseen = 0.0
    for stratum in strata:
        rows, terms, drawn = stratum.rows, stratum.terms, len(stratum.terms)
        if drawn:
            gap += rows * float(terms.mean())
        if 1 < drawn < rows:
            variance += rows**2 * (1.0 - drawn / rows) * float(terms.var(ddof=1)) / drawn
            if not terms.any():
                unseen += _UNSEEN * (rows / drawn - 1.0) * stratum.largest
    if not (isfinite(gap) and isfinite(variance) and isfinite(dual)):
        return None
    half = _QUANTILE * sqrt(variance)
    ends = [_relative(max(0.0, gap - half), dual), _relative(gap + half + unseen, dual)]
    if dual < 0 and gap - half < -2 * dual < gap + half + unseen:
        ends.append(2.0)  # the relative gap is largest where the primal is -dual
    found = _relative(gap, dual)
    drawn = sum(len(stratum.terms) for stratum in strata)
    interval = min(found, *ends), max(found, *ends)
    return GapEstimate(found, interval, drawn, pass_seconds)


def _relative(gap: float, dual: float) -> float:
    """Return a gap relative to the larger objective."""
    scale = max(abs(dual), abs(dual + gap))
    return gap / scale if scale > 0 else gap
