"""All support vectors, version by version: what the engine publishes and the shards read."""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats, Ints

_KEPT_VERSIONS = 6  # older scores are recomputed from all support vectors


class Expansion:
    """Support vectors (ids ascending, one summed coefficient each) and the biases.

    Attributes
    ----------
    version : int
        Grows by one with every publication; version 0 is the zero model.
    ids, coef : ndarray
    bias : ndarray of shape (groups,)
    drift : ndarray of shape (version + 1,)
        Bound on |w_now - w_v| for every past version v; infinite where it is not known.
    """

    def __init__(self, groups: int) -> None:
        self.version = 0
        self.ids: Ints = np.empty(0, dtype=np.int64)
        self.coef: Floats = np.empty(0)
        self.bias: Floats = np.zeros(groups)
        self.drift: Floats = np.zeros(1)
        self._past: dict[int, tuple[Ints, Floats]] = {0: (self.ids, self.coef)}

    def publish(self, ids: Ints, coef: Floats, bias: Floats, length: float) -> None:
        """Replace the model by one at most `length` away in feature space. Sets: everything."""
        order = np.argsort(ids, kind="stable")
        self.version += 1
        self.ids, self.coef, self.bias = ids[order], coef[order], bias
        self.drift = np.append(self.drift + length, 0.0)
        self._past[self.version] = (self.ids, self.coef)
        self._past.pop(self.version - _KEPT_VERSIONS, None)

    def change_since(self, version: int) -> tuple[Ints | None, Floats]:
        """Support vectors whose coefficient differs from that of a past version, and by how much.

        The first entry is None when that version is no longer known.
        """
        if version not in self._past:
            return None, np.empty(0)
        ids, coef = self._past[version]
        every, place = np.unique(np.concatenate([self.ids, ids]), return_inverse=True)
        change = np.zeros(len(every))
        change[place[: len(self.ids)]] = self.coef
        change[place[len(self.ids) :]] -= coef
        moved = change != 0
        return every[moved], change[moved]
