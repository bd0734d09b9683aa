"""Orders for surveys of the rows, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class SurveyOrder:
    """Order for a survey: a search for rows that violate the optimality conditions.

    Attributes
    ----------
    quota : int
        Largest number of violators to return.
    tol : float
        Rows whose violation exceeds `tol` are violators.
    whole : bool
        If True, visit every row. If False, stop when the quota is reached.
    skip : bool
        If True, rows that the drift bound proves not to violate are not evaluated.
    caution : float
        Factor of the drift bound, the bound on the change of a score since it was computed. With 1,
        no violator is skipped; a smaller factor skips more rows.
    rows : ndarray, optional
        Rows to visit, in this order; no other row is visited and none is skipped. Unless `whole`,
        the survey ends with the row that fills the quota.
    """

    quota: int
    tol: float
    whole: bool = False
    skip: bool = True
    caution: float = 1.0
    rows: Ints | None = None

    def drift(self, bounds: Floats) -> Floats:
        """Return the assumed bounds on the change of scores since each version.

        Parameters
        ----------
        bounds : ndarray
            Proved bounds; infinite where they are not known.
        """
        if not self.skip:
            return np.full_like(bounds, np.inf)
        known = np.isfinite(bounds)
        return np.where(known, self.caution * np.where(known, bounds, 0.0), np.inf)


@dataclass(frozen=True, eq=False)
class Survey:
    """Result of a survey.

    Attributes
    ----------
    ids : ndarray
        Violators drawn, at most the quota.
    violation : ndarray
        Violation of each of them.
    highest, lowest : ndarray of shape (groups,)
        Extremes of F over the rows evaluated.
    loss : float
        Primal loss over the rows visited, extrapolated to all rows outside the working set.
    scanned, skipped : int
        Numbers of rows that were evaluated, and that were skipped.
    complete : bool
        True if every row was visited.
    found : int
        Number of violators among the rows evaluated, drawn or not.
    visited : int
        Number of rows visited, including those in the working set.
    """

    ids: Ints
    violation: Floats
    highest: Floats
    lowest: Floats
    loss: float
    scanned: int
    skipped: int
    complete: bool
    found: int
    visited: int

    @classmethod
    def first(cls, ids: Ints) -> Survey:
        """Return a survey whose violators are the first rows of a fit."""
        nothing = np.empty(0)
        return cls(
            ids=ids,
            violation=np.ones(len(ids)),
            highest=nothing,
            lowest=nothing,
            loss=0.0,
            scanned=0,
            skipped=0,
            complete=False,
            found=len(ids),
            visited=0,
        )

    @classmethod
    def united(cls, found: Sequence[Survey], begins: Sequence[int]) -> Survey:
        """Merge surveys of several shards.

        Parameters
        ----------
        found : sequence of Survey
        begins : sequence of int
            Number of the first row of each shard.
        """
        return cls(
            ids=np.concatenate([s.ids + b for s, b in zip(found, begins, strict=True)]),
            violation=np.concatenate([s.violation for s in found]),
            highest=np.asarray(np.stack([s.highest for s in found]).max(axis=0)),
            lowest=np.asarray(np.stack([s.lowest for s in found]).min(axis=0)),
            loss=sum(s.loss for s in found),
            scanned=sum(s.scanned for s in found),
            skipped=sum(s.skipped for s in found),
            complete=all(s.complete for s in found),
            found=sum(s.found for s in found),
            visited=sum(s.visited for s in found),
        )
