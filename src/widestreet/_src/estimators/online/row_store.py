"""The rows of an online machine: they come in order and go in any."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.homotopy.parametric_optimum import order_after_removal
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Kernel
from widestreet._src.rows import as_rows

_AHEAD = 1.5  # times what is needed: room that arrays get when they grow


class Kept:
    """What a store was, so that it can be that again."""

    def __init__(self, store: RowStore) -> None:
        self.n, self.arrived = store.n, store.arrived
        self.target, self.weight = store.target.copy(), store.weight.copy()
        self.ids = store.ids.copy()
        self.sparse = store._X if sparse.issparse(store._X) else None
        self.at: Ints = np.zeros(0, dtype=np.int64)
        self.lost: Any = None

    def keep(self, store: RowStore, gone: Ints) -> None:
        """Copy the dense rows that are overwritten when others are dropped."""
        if self.sparse is None:
            end = min(self.n, store.n - len(gone))
            at = np.union1d(gone, np.arange(end, self.n))
            self.at = at[at < self.n]
            self.lost = store.X[self.at]


class RowStore:
    """Rows with a number, a target and a weight each.

    Where a row stands changes when others go; its number, which counts rows in order of arrival,
    does not.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR of no rows
        Tells how rows are stored.
    centre : ndarray or None
        Dense rows are looked at relative to this point.
    threads : int
    """

    def __init__(self, kernel: Kernel, X: Any, centre: Floats | None, threads: int) -> None:
        self.kernel, self.centre, self.threads = kernel, centre, threads
        self.n, self.arrived = 0, 0
        self._X: Any = X[:0].copy()
        self._target, self._weight = np.zeros(0), np.zeros(0)
        self._ids: Ints = np.zeros(0, dtype=np.int64)
        self._gram: Gram | None = None
        self.kernel_values = 0

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_gram": None}

    @property
    def X(self) -> Any:
        """The rows."""
        return self._X[: self.n]

    @property
    def target(self) -> Floats:
        """Of each row."""
        return self._target[: self.n]

    @property
    def weight(self) -> Floats:
        """Of each row."""
        return self._weight[: self.n]

    @property
    def ids(self) -> Ints:
        """Number of each row."""
        return self._ids[: self.n]

    @property
    def gram(self) -> Gram:
        """Kernel values between the rows there are."""
        if self._gram is None:
            rows = as_rows(self.X, centre=self.centre)
            self._gram = Gram(self.kernel, rows, threads=self.threads)
        return self._gram

    def block(self, I: Ints, J: Ints | None) -> Floats:
        """Kernel values of rows with others, or with all."""
        self.kernel_values += len(I) * (self.n if J is None else len(J))
        return np.asarray(self.gram.block(I, J), dtype=np.float64)

    def scan(self, I: Ints, J: Ints, coef: Floats) -> Floats:
        """Sums of kernel values of rows with others, times the coefficients of these."""
        self.kernel_values += len(I) * len(J)
        return self.gram.scan(I, J, coef)

    def find(self, ids: Ints) -> Ints:
        """Where rows stand; a ValueError names those that are not there."""
        order = np.argsort(self.ids)
        at = np.minimum(np.searchsorted(self.ids[order], ids), self.n - 1)
        found = order[at] if self.n else np.zeros(0, dtype=np.int64)
        missing = ids[self.ids[found] != ids] if self.n else ids
        if len(missing):
            some = ", ".join(map(str, missing[:5].tolist())) + (", ..." if len(missing) > 5 else "")
            raise ValueError(
                f"ids: there is no row {some}; rows are numbered in order of arrival from 0, and "
                "ids_ has the numbers of those that are there"
            )
        return found

    def add(self, X: Any, target: Floats, weight: Floats) -> Ints:
        """Append rows. Returns where they stand."""
        m = X.shape[0]
        wider = np.result_type(self._X.dtype, X.dtype)
        if wider != self._X.dtype:
            self._X = self._X.astype(wider)
        self._grow(m)
        new = np.arange(self.n, self.n + m)
        if sparse.issparse(self._X):
            self._X = sparse.vstack([self._X, X]).tocsr()
        else:
            self._X[new] = X
        self._target[new], self._weight[new] = target, weight
        self._ids[new] = self.arrived + np.arange(m)
        self.n, self.arrived = self.n + m, self.arrived + m
        self._gram = None
        return new

    def _grow(self, m: int) -> None:
        """Sets: arrays, with room for so many more rows."""
        need = self.n + m
        if need <= len(self._ids):
            return
        room = int(_AHEAD * need) + 16
        names = ["_target", "_weight", "_ids"] + ["_X"] * (not sparse.issparse(self._X))
        for name in names:
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), dtype=old.dtype)
            new[: self.n] = old[: self.n]
            setattr(self, name, new)

    def kept(self) -> Kept:
        """What the store is now, for `restore`."""
        return Kept(self)

    def restore(self, kept: Kept) -> None:
        """Become again what was kept, whatever was added and dropped since. Sets: everything."""
        if kept.sparse is not None:
            self._X = kept.sparse
        elif kept.lost is not None:
            self._X[kept.at] = kept.lost
        self.cut(kept.n, kept.arrived)
        self._target[: kept.n], self._weight[: kept.n] = kept.target, kept.weight
        self._ids[: kept.n] = kept.ids

    def drop(self, rows: Ints) -> Ints:
        """Remove rows; the last ones take their places. Returns which row stands where now."""
        order = order_after_removal(self.n, rows)
        moved = np.flatnonzero(order != np.arange(len(order)))
        for array in (self._target, self._weight, self._ids):
            array[moved] = array[order[moved]]
        if sparse.issparse(self._X):
            self._X = self._X[order]
        else:
            self._X[moved] = self._X[order[moved]]
        self.cut(len(order), self.arrived)
        return order

    def cut(self, n: int, arrived: int) -> None:
        """Keep the first n rows, and nothing of the others."""
        for array in (self._target, self._weight, self._ids):
            array[n:] = 0
        if sparse.issparse(self._X):
            self._X = self._X[:n]
        else:
            self._X[n:] = 0
        self.n, self.arrived = n, arrived
        self._gram = None
