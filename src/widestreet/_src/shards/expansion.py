"""All support vectors with their coefficients: what scores are computed from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Expansion:
    """Support vectors (ids ascending, one summed coefficient each) and the biases.

    Attributes
    ----------
    version : int
        Grows by one with every publication; version 0 is zero.
    ids, coef : ndarray
    bias : ndarray of shape (groups,)
    drift : ndarray of shape (version + 1,)
        Bound on |w_now - w_v| for every past version v; infinite where it is not known.
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
        """Return the next version, which is at most `length` away in feature space."""
        order = np.argsort(ids, kind="stable")
        drift = np.append(self.drift + length, 0.0)
        return Expansion(self.version + 1, ids[order], coef[order], bias, drift)

    def change_from(self, ids: Ints, coef: Floats) -> tuple[Ints, Floats]:
        """Return the rows whose coefficient differs from that of another one, and by how much."""
        every, at = np.unique(np.concatenate([self.ids, ids]), return_inverse=True)
        change = np.zeros(len(every))
        change[at[: len(self.ids)]] = self.coef
        change[at[len(self.ids) :]] -= coef
        moved = change != 0
        return every[moved], change[moved]
