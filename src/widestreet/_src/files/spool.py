"""All rows in random order on disk: what training reads instead of the files of the user.

One pass over the rows takes the census and distributes the rows: every row is written to a random
block. A block is then a random sample of all rows, whatever the order of the files. The number that
a row had there is stored beside it. Rows of weight zero are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.files.formats import Batch
from widestreet._src.files.scratch import Scratch
from widestreet._src.rows import Vectors
from widestreet._src.rows.census import Census
from widestreet._src.rows.labels import encoded

_LARGEST_DRAW = 10**9  # rows up to which NumPy draws from a multivariate hypergeometric
_MERGED_PARTS = 64  # census of so many batches are merged at a time


class Spool:
    """Rows in random order on disk, in blocks.

    Attributes
    ----------
    census : Census
        Of all rows, those of weight zero included.
    classes : ndarray or None
        Labels of the classes that have rows of positive weight, ascending.
    sizes : ndarray
        Rows of each block.
    """

    def __init__(
        self,
        scratch: Scratch,
        census: Census,
        begins: Ints,
        sizes: Ints,
        encoder: Encoder | None,
        weighted: bool,
    ) -> None:
        self._weighted = weighted
        self.scratch, self.census, self.sizes = scratch, census, sizes
        self._begins = begins
        self.classes: Any = None
        self._number: Ints | None = None
        if encoder is not None:
            self.classes, self._number = encoder.sorted()

    def close(self) -> None:
        """Give back the space on the disk."""
        self.scratch.close()

    def read(self, name: str, k: int) -> Any:
        """Return one array of a block."""
        begin = int(self._begins[k])
        return self.scratch.read(name, begin, begin + int(self.sizes[k]))

    def write(self, name: str, k: int, values: Any) -> None:
        """Set one array of a block."""
        self.scratch.write(name, int(self._begins[k]), values)

    def longest(self, none: Vectors, threads: int) -> float:
        """Return the largest |x|^2 of a row, relative to the centre of `none`."""
        blocks = np.flatnonzero(self.sizes).tolist()
        every = (self.read("X", k).reshape(-1, none.shape[1]) for k in blocks)
        return max(none.holding(X).largest_square(threads) for X in every)

    def target(self, k: int) -> Any:
        """Return the class indices of a block, or its targets."""
        found = self.read("target", k)
        return found if self._number is None else self._number[found]

    def weight(self, k: int) -> Floats:
        """Return the weights of the rows of a block."""
        return np.asarray(self.read("weight", k)) if self._weighted else np.ones(self.sizes[k])


class Encoder:
    """Numbers labels in the order in which they are met."""

    def __init__(self) -> None:
        self._number: dict[Any, int] = {}

    def __call__(self, y: Any) -> Ints:
        """Return the numbers of labels. Sets: the numbers of new ones."""
        classes, code = encoded(y)
        number = [self._number.setdefault(label, len(self._number)) for label in classes.tolist()]
        self._dtype = np.result_type(getattr(self, "_dtype", classes.dtype), classes.dtype)
        return np.array(number, dtype=np.int64)[code]

    def __len__(self) -> int:
        return len(self._number)

    def sorted(self) -> tuple[Any, Ints]:
        """Return the labels in ascending order, and the position of each number among them."""
        labels = np.array(list(self._number), dtype=self._dtype)
        order = np.argsort(labels, kind="stable")
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        return labels[order], position


def spooled(
    batches: Iterable[Batch],
    *,
    rows: int,
    columns: int,
    dtype: Any,
    labels: bool,
    weighted: bool,
    scratch: Any,
    block_rows: int,
    buffer_bytes: int,
    rng: np.random.Generator,
    extra: dict[str, tuple[np.dtype[Any], int]],
    check: Callable[[Census], None],
) -> Spool:
    """Distribute rows to random blocks on disk.

    Parameters
    ----------
    batches : iterable
        Rows, labels or targets or None, and weights or None.
    rows, columns : int
    dtype : numpy.dtype
    labels : bool
        Whether targets are labels of classes.
    weighted : bool
        Whether rows have weights.
    scratch : str or path or None
        Directory of the temporary file.
    block_rows : int
        Rows of a block, about.
    buffer_bytes : int
        Size of the rows that are distributed at a time.
    rng : numpy.random.Generator
    extra : dict
        Further arrays of the temporary file.
    check : callable
        Refuses the census of a batch that has invalid values.
    """
    blocks = max(1, -(-rows // block_rows))
    edges: Ints = np.linspace(0, rows, blocks + 1).astype(np.int64)
    begins, room = edges[:-1], edges[1:] - edges[:-1]
    target = np.dtype(np.int32 if labels else np.float64)
    file = Scratch(
        scratch,
        rows,
        {
            "X": (np.dtype(dtype), columns),
            "target": (target, 1),
            "origin": (np.dtype(np.int64), 1),
            **({"weight": (np.dtype(np.float64), 1)} if weighted else {}),
            **extra,
        },
    )
    encoder = Encoder() if labels else None
    sizes = np.zeros(blocks, dtype=np.int64)
    parts: list[Census] = []
    try:
        for X, y, weight, origin in _buffered(batches, buffer_bytes, labels, parts, check):
            code = y if encoder is None else encoder(y)
            for k, at in _distributed(room - sizes, len(X), rng):
                values = {"X": X, "target": code, "origin": origin}
                for name, array in (values | ({"weight": weight} if weighted else {})).items():
                    file.write(name, int(begins[k] + sizes[k]), array[at])
                sizes[k] += len(at)
        return Spool(file, Census.merged(parts), begins, sizes, encoder, weighted)
    except BaseException:
        file.close()
        raise


def _buffered(
    batches: Iterable[Batch],
    buffer_bytes: int,
    labels: bool,
    parts: list[Census],
    check: Callable[[Census], None],
) -> Iterator[tuple[Real, Any, Floats, Ints]]:
    """Yield rows of positive weight in larger batches, with their numbers.

    Sets: parts, the census of all rows.
    """
    held: list[tuple[Real, Any, Floats, Ints]] = []
    begin = size = 0
    for X, y, weight in batches:
        census = Census.of(X, y, weight, labels=labels)
        parts.append(census)
        if census.fault is not None:
            check(Census.merged(parts))
        if len(parts) > _MERGED_PARTS:
            parts[:] = [Census.merged(parts)]
        given = np.ones(len(X)) if weight is None else weight
        targets = np.zeros(len(X)) if y is None else np.asarray(y)
        origin = np.arange(begin, begin + len(X))
        begin += len(X)
        used = given > 0
        if not used.all():
            X, targets, given, origin = X[used], targets[used], given[used], origin[used]
        held.append((X, targets, given, origin))
        size += X.nbytes
        if size >= buffer_bytes:
            yield _joined(held)
            held, size = [], 0
    if held:
        yield _joined(held)


def _joined(held: list[tuple[Real, Any, Floats, Ints]]) -> tuple[Real, Any, Floats, Ints]:
    if len(held) == 1:
        return held[0]
    X, y, weight, origin = (np.concatenate(arrays) for arrays in zip(*held, strict=True))
    return X, y, weight, origin


def _distributed(room: Ints, rows: int, rng: np.random.Generator) -> Iterator[tuple[int, Ints]]:
    """Divide rows among blocks at random, as many as chance gives each of them."""
    scale = 1 + int(room.sum()) // _LARGEST_DRAW
    free = room if scale == 1 else room // scale
    count = rng.multivariate_hypergeometric(free, rows, method="marginals")
    order, end = rng.permutation(rows), np.cumsum(count)
    for k in np.flatnonzero(count):
        yield int(k), order[end[k] - count[k] : end[k]]
