"""Expansions: all support vectors with their coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Expansion:
    """Support vectors with their coefficients, and the biases; scores are computed from it.

    Attributes
    ----------
    version : int
        Grows by one with every publication; version 0 is the zero expansion.
    ids, coef : ndarray
        Numbers of the support vectors, ascending, and the summed coefficient of each.
    bias : ndarray of shape (groups,)
    drift : ndarray of shape (version + 1,)
        Bound on |w_now - w_v| for every past version v; infinite if it is not known.
    """

    version: int
    ids: Ints
    coef: Floats
    bias: Floats
    drift: Floats

    @classmethod
    def zero(cls, groups: int) -> Expansion:
        """Return the expansion without support vectors."""
        return cls(0, np.empty(0, dtype=np.int64), np.empty(0), np.zeros(groups), np.zeros(1))

    def published(self, ids: Ints, coef: Floats, bias: Floats, length: float) -> Expansion:
        """Return the next version, at a distance of at most `length` in feature space."""
        order = np.argsort(ids, kind="stable")
        drift = np.append(self.drift + length, 0.0)
        return Expansion(self.version + 1, ids[order], coef[order], bias, drift)

    def change_from(self, ids: Ints, coef: Floats, threads: int = 1) -> tuple[Ints, Floats]:
        """Return the rows whose coefficients differ from another expansion, and the differences.

        The rows of both are ascending.
        """
        return _core.changes(self.ids, self.coef, ids, coef, threads)
