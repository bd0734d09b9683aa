"""The columns of kernel matrices, addressed by the numbers of rows among those of all shards.

If the rows are in memory, the columns are all rows (`AllRows`). Otherwise a shard stores the
support vectors from the news (`HeardRows`), and the coordinator stores the rows that it fetched
from shards (`TakenRows`). Stored rows are called known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.gram import Gram, facing
from widestreet._src.kernels.kernels import Kernel
from widestreet._src.kernels.selected_rows import Diagonal, Selection
from widestreet._src.rows import Vectors

_KEPT_ROWS = 2.0  # times the rows in use: if more rows are stored, unused ones are dropped


@dataclass(frozen=True, eq=False)
class Features:
    """Features of some rows, with their diagonal terms and numbers.

    Attributes
    ----------
    ids : ndarray
        Numbers of the rows among those of all shards, ascending.
    data : ndarray or sparse matrix
        What `Vectors.to_send` returned.
    diagonal : ndarray or None
        Terms that are added to the diagonal of the kernel matrix.
    origin : ndarray
        Numbers of the rows among those that the user passed.
    """

    ids: Ints
    data: Any
    diagonal: Floats | None
    origin: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, at: Ints) -> Features:
        """Return some of the rows, by their positions."""
        diagonal = None if self.diagonal is None else self.diagonal[at]
        return Features(self.ids[at], self.data[at], diagonal, self.origin[at])

    def of(self, ids: Ints) -> Features:
        """Return some of the rows, by their numbers."""
        return self.select(self.places(ids))

    def places(self, ids: Ints) -> Ints:
        """Return the positions of rows, by their numbers."""
        at = np.searchsorted(self.ids, ids)
        known = at.max(initial=-1) < len(self.ids) and np.array_equal(self.ids[at], ids)
        assert known, "some rows are not known"
        return at


def joined(parts: list[Features]) -> Features:
    """Return the rows of several sets, each once."""
    ids, at = np.unique(np.concatenate([part.ids for part in parts]), return_index=True)
    blocks = [part.data for part in parts]
    if sparse.issparse(blocks[0]):
        data = sparse.vstack(blocks, format="csr")
    else:
        data = np.concatenate(blocks)
    diagonals = [part.diagonal for part in parts if part.diagonal is not None]
    diagonal = np.concatenate(diagonals)[at] if diagonals else None
    origin = np.concatenate([part.origin for part in parts])
    return Features(ids, data[at], diagonal, origin[at])


def heard_with(before: Features | None, rows: Features | None, past: Sequence[Ints]) -> Features:
    """Return the support vectors of the present expansion, and those of past ones if known."""
    assert rows is not None, "the news must bring the features of the support vectors"
    if before is None or not past:
        return rows
    needed = np.setdiff1d(np.unique(np.concatenate(past)), rows.ids)
    needed = needed[np.isin(needed, before.ids)]
    return joined([rows, before.of(needed)])


class Columns(Protocol):
    """Kernel values between some rows (left) and all known rows (right)."""

    @property
    def gram(self) -> Gram: ...

    def places(self, ids: Ints) -> Ints:
        """Return the positions of rows among the right rows."""
        ...


class KnownRows(Columns, Protocol):
    """Kernel values between all rows that the coordinator knows."""

    def unknown(self, ids: Ints) -> Ints:
        """Return those of some rows that are not known."""
        ...

    def learn(self, rows: Sequence[Features | None]) -> None:
        """Store rows from the answers of shards; None stands for rows that are known."""
        ...

    def keep(self, *ids: Ints) -> None:
        """Drop rows that are in none of these lists, if there are many."""
        ...

    def heard(self, ids: Ints) -> Features | None:
        """Return rows to send to the shards; None if every shard knows all rows."""
        ...

    def between(self, ids: Ints) -> Gram:
        """Return the kernel values between some rows, without any other row."""
        ...


class ShardColumns(Columns, Protocol):
    """Kernel values between the rows of a shard and all rows that the shard knows."""

    def hear(self, rows: Features | None, past: Sequence[Ints]) -> None:
        """Store the support vectors of the present expansion; keep those of past ones."""
        ...

    def forget(self) -> None:
        """Drop the stored support vectors."""
        ...

    def features(self, at: Ints) -> Features | None:
        """Return rows of the shard, by their positions; None if the coordinator knows them."""
        ...


@dataclass(frozen=True, eq=False)
class AllRows:
    """Columns of a Gram matrix whose right rows are those of all shards."""

    gram: Gram

    def places(self, ids: Ints) -> Ints:
        """Return the positions of rows: their numbers."""
        return ids

    def hear(self, rows: Features | None, past: Sequence[Ints]) -> None:
        """Do nothing: every row is known."""

    def forget(self) -> None:
        """Do nothing: no row was copied."""

    def features(self, at: Ints) -> None:
        """Return None: the coordinator knows all rows."""

    def unknown(self, ids: Ints) -> Ints:
        """Return no row."""
        return ids[:0]

    def learn(self, rows: Sequence[Features | None]) -> None:
        """Do nothing: every row is known."""

    def keep(self, *ids: Ints) -> None:
        """Do nothing: no row was copied."""

    def heard(self, ids: Ints) -> None:
        """Return None: every shard knows all rows."""

    def between(self, ids: Ints) -> Gram:
        """Return the kernel values between some rows."""
        return self.gram.select(ids)


@dataclass(eq=False)
class TakenRows:
    """Rows that the coordinator fetched from shards.

    Parameters
    ----------
    kernel : Kernel
    none : Vectors
        No rows, in the form that all rows have.
    longest : float
        Bound on |x|^2 of all rows of all shards.
    threads : int

    Attributes
    ----------
    rows : Features
    """

    kernel: Kernel
    none: Vectors
    longest: float
    threads: int = 1
    rows: Features = field(init=False)

    def __post_init__(self) -> None:
        nothing = np.empty(0, dtype=np.int64)
        self.rows = Features(nothing, self.none.to_send(nothing), None, nothing)

    @cached_property
    def gram(self) -> Gram:
        """Kernel values between the rows."""
        return self._gram(self.rows, self.threads)

    def _gram(self, rows: Features, threads: int) -> Gram:
        vectors = self.none.holding(rows.data)
        gram = Gram(self.kernel, vectors, threads=threads, longest=self.longest)
        return gram.select(None, diagonal=rows.diagonal)

    def places(self, ids: Ints) -> Ints:
        """Return the positions of rows."""
        return self.rows.places(ids)

    def unknown(self, ids: Ints) -> Ints:
        """Return those of some rows that were not fetched."""
        return np.setdiff1d(ids, self.rows.ids)

    def learn(self, rows: Sequence[Features | None]) -> None:
        """Store more rows. Sets: rows, gram."""
        more = [part for part in rows if part is not None]
        if more:
            self._replace(joined([self.rows, *more] if len(self.rows) else more))

    def heard(self, ids: Ints) -> Features:
        """Return rows to send to the shards."""
        return self.rows.of(ids)

    def between(self, ids: Ints) -> Gram:
        """Return the kernel values between some rows, without any other row, for one thread."""
        return self._gram(self.rows.of(ids), threads=1)

    def keep(self, *ids: Ints) -> None:
        """Drop rows that are in none of these lists, if there are many. Sets: rows, gram."""
        every = np.unique(np.concatenate(ids))
        if len(self.rows) > _KEPT_ROWS * len(every):
            self._replace(self.rows.of(every))

    def _replace(self, rows: Features) -> None:
        self.rows = rows
        vars(self).pop("gram", None)


class HeardRows:
    """Kernel values between the rows of a shard and the support vectors from the news.

    Parameters
    ----------
    kernel : Kernel
    rows : Vectors
        The rows of the shard.
    begin : int
        Number of the first row among those of all shards.
    longest : float
        Bound on |x|^2 of all rows of all shards.
    origin : ndarray
        Numbers of the rows among those that the user passed.
    diagonal : ndarray, optional
        Terms that are added to the diagonal of the kernel matrix, for the rows of the shard.
    threads : int
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Vectors,
        begin: int,
        longest: float,
        origin: Ints,
        diagonal: Floats | None = None,
        threads: int = 1,
    ) -> None:
        self.begin, self.origin, self.diagonal = begin, origin, diagonal
        self._rows = rows
        self._own = Gram(kernel, rows, threads=threads, longest=longest)
        self._heard: Features | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self) | {"_heard": None}
        state.pop("gram", None)
        return state

    def forget(self) -> None:
        """Drop the stored support vectors. Sets: heard, gram."""
        self.resume(None)

    @cached_property
    def gram(self) -> Gram:
        """Kernel values between the rows (left) and the stored support vectors (right)."""
        rows = self._rows
        if self._heard is None:
            ids = np.empty(0, dtype=np.int64)
            data = rows.to_send(ids)
        else:
            ids, data = self._heard.ids, self._heard.data
        diagonal = None
        if self.diagonal is not None:
            mine = (ids >= self.begin) & (ids < self.begin + len(self.diagonal))
            columns = np.where(mine, ids - self.begin, len(self.diagonal))
            diagonal = Diagonal(self.diagonal, Selection(None, columns))
        return facing(self._own, rows.holding(data), diagonal)

    def places(self, ids: Ints) -> Ints:
        """Return the positions of support vectors among the right rows."""
        assert self._heard is not None
        return self._heard.places(ids)

    def hear(self, rows: Features | None, past: Sequence[Ints]) -> None:
        """Store the support vectors of the present expansion; keep those of past ones.

        Sets: heard, gram.
        """
        self.resume(heard_with(self._heard, rows, past))

    def resume(self, heard: Features | None) -> None:
        """Replace the stored support vectors. Sets: heard, gram."""
        self._heard = heard
        vars(self).pop("gram", None)

    def features(self, at: Ints) -> Features:
        """Return rows of the shard, by their positions."""
        diagonal = None if self.diagonal is None else self.diagonal[at]
        return Features(at + self.begin, self._rows.to_send(at), diagonal, self.origin[at])
