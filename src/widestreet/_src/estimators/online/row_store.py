"""Storage of the rows of an online estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.homotopy.parametric_optimum import order_after_removal
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Kernel
from widestreet._src.rows import as_rows

_CAPACITY_FACTOR = 1.5  # capacity of arrays that grow, relative to the rows that they hold


class Kept:
    """Copy of a store from which it can be restored."""

    def __init__(self, store: RowStore) -> None:
        self.n, self.arrived = store.n, store.arrived
        self.target, self.weight = store.target.copy(), store.weight.copy()
        self.ids = store.ids.copy()
        self.sparse = store._X if sparse.issparse(store._X) else None
        self.at: Ints = np.zeros(0, dtype=np.int64)
        self.lost: Any = None

    def keep(self, store: RowStore, gone: Ints) -> None:
        """Copy the dense rows that will be overwritten when rows are removed."""
        if self.sparse is None:
            end = min(self.n, store.n - len(gone))
            at = np.union1d(gone, np.arange(end, self.n))
            self.at = at[at < self.n]
            self.lost = store.X[self.at]


class RowStore:
    """Rows, each with an id, a target and a weight.

    The position of a row changes when other rows are removed. Its id, which counts rows in order of
    arrival, does not change.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR of no rows
        Sets the format and the dtype of the rows.
    centre : ndarray or None
        Point that is subtracted from dense rows.
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
        """Stored rows."""
        return self._X[: self.n]

    @property
    def target(self) -> Floats:
        """Target of each row."""
        return self._target[: self.n]

    @property
    def weight(self) -> Floats:
        """Weight of each row."""
        return self._weight[: self.n]

    @property
    def ids(self) -> Ints:
        """Id of each row."""
        return self._ids[: self.n]

    @property
    def gram(self) -> Gram:
        """Gram matrix of the stored rows."""
        if self._gram is None:
            rows = as_rows(self.X, centre=self.centre)
            self._gram = Gram(self.kernel, rows, threads=self.threads)
        return self._gram

    def use_threads(self, threads: int) -> None:
        """Compute kernel values with another number of threads from now on."""
        if threads != self.threads:
            self.threads, self._gram = threads, None

    def block(self, I: Ints, J: Ints | None) -> Floats:
        """Return K[I, J]; J=None means all rows."""
        self.kernel_values += len(I) * (self.n if J is None else len(J))
        return np.asarray(self.gram.block(I, J), dtype=np.float64)

    def scan(self, I: Ints, J: Ints, coef: Floats) -> Floats:
        """Return K[I, J] @ coef."""
        self.kernel_values += len(I) * len(J)
        return self.gram.scan(I, J, coef)

    def find(self, ids: Ints) -> Ints:
        """Return the positions of rows; a ValueError names the ids that are not stored."""
        order = np.argsort(self.ids)
        at = np.minimum(np.searchsorted(self.ids[order], ids), self.n - 1)
        found = order[at] if self.n else np.zeros(0, dtype=np.int64)
        missing = ids[self.ids[found] != ids] if self.n else ids
        if len(missing):
            some = ", ".join(map(str, missing[:5].tolist())) + (", ..." if len(missing) > 5 else "")
            raise ValueError(
                f"ids: there is no row {some}; ids count rows from 0 in order of arrival, and ids_ "
                "holds those of the stored rows"
            )
        return found

    def add(self, X: Any, target: Floats, weight: Floats) -> Ints:
        """Append rows and return their positions."""
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
        """Make room for `m` more rows. Sets: arrays."""
        need = self.n + m
        if need <= len(self._ids):
            return
        room = int(_CAPACITY_FACTOR * need) + 16
        names = ["_target", "_weight", "_ids"] + ["_X"] * (not sparse.issparse(self._X))
        for name in names:
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), dtype=old.dtype)
            new[: self.n] = old[: self.n]
            setattr(self, name, new)

    def kept(self) -> Kept:
        """Return a copy of the store for `restore`."""
        return Kept(self)

    def restore(self, kept: Kept) -> None:
        """Undo all additions and removals since a copy was made. Sets: everything."""
        if kept.sparse is not None:
            self._X = kept.sparse
        elif kept.lost is not None:
            self._X[kept.at] = kept.lost
        self.cut(kept.n, kept.arrived)
        self._target[: kept.n], self._weight[: kept.n] = kept.target, kept.weight
        self._ids[: kept.n] = kept.ids

    def drop(self, rows: Ints) -> Ints:
        """Remove rows; the last rows take their positions. Return the old position of each row."""
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
        """Keep the first n rows and overwrite the others with zeros."""
        for array in (self._target, self._weight, self._ids):
            array[n:] = 0
        if sparse.issparse(self._X):
            self._X = self._X[:n]
        else:
            self._X[n:] = 0
        self.n, self.arrived = n, arrived
        self._gram = None
