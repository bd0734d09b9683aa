"""What a survey of the rows is asked for, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class SurveyOrder:
    """What a survey is asked for.

    Attributes
    ----------
    quota : int
        Violators wanted: no more are returned.
    tol : float
        Rows that violate by more than this are violators.
    whole : bool
        Visit every row, instead of stopping when the quota is reached.
    skip : bool
        Whether rows may be skipped.
    caution : float
        Part of the bound by which scores are taken to have moved: 1 makes skipping safe.
    rows : ndarray, optional
        Rows to visit, in this order and none else; nothing is skipped then. The survey ends right
        behind the row that fills the quota.
    """

    quota: int
    tol: float
    whole: bool = False
    skip: bool = True
    caution: float = 1.0
    rows: Ints | None = None

    def drift(self, bounds: Floats) -> Floats:
        """Return by how much scores are taken to have moved since each version."""
        if not self.skip:
            return np.full_like(bounds, np.inf)
        known = np.isfinite(bounds)
        return np.where(known, self.caution * np.where(known, bounds, 0.0), np.inf)


@dataclass(frozen=True, eq=False)
class Survey:
    """What a survey found.

    Attributes
    ----------
    ids : ndarray
        Violators drawn, at most the quota.
    violation : ndarray
        By how much each of them violates.
    highest, lowest : ndarray of shape (groups,)
        Extremes of F over the rows evaluated.
    loss : float
        Primal loss over the rows visited, extrapolated to all rows outside the working set.
    scanned, skipped : int
    complete : bool
        Whether every row was visited.
    found : int
        Violators met, drawn or not.
    visited : int
        Rows visited, those in the working set included.
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
        """Return the rows to begin with as if a survey had found them."""
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
        """Return one survey out of several; `begins` is what to add to the rows of each."""
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
