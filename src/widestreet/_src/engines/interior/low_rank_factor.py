"""Factors of the kernel matrix: K = V V' with few columns.

    linear        V is the rows themselves
    polynomial    V is the monomials of (gamma x.s + coef0)^degree, with their multinomial factors
    any other     V is a Cholesky factor with pivots, until the residual is rounding

If the coefficients of a problem sum to zero, a translation of the rows of V changes all scores by
one constant, which the biases absorb. V is then centred, because smaller numbers lose fewer digits.

V is stored if it fits in the memory. Otherwise its blocks of rows are computed again each time; a
Cholesky factor must fit. Sums over the rows are taken block by block in a fixed order, so that they
do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import TypeVar

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.interior.pivoted_cholesky import pivoted_cholesky
from widestreet._src.kernels.double_double import Pair, column_sums, two_product
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Kernel, Linear, Poly
from widestreet._src.kernels.monomials import Monomials, monomial_count
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows.features import features

_VALUES_AT_ONCE = 1 << 18  # of V in a block: it stays in the cache while it is used
_AHEAD = 4  # blocks per thread that are computed before their results are added
_LARGE = 1000  # rank above which V'WV does not stay in the cache
_TILE = 256  # largest number of rows and columns of a part of it that does
_ROWS_PER_TILE = 1024  # rows of V whose products are added to a tile at a time, about

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Factor:
    """Rows of V, in blocks.

    Attributes
    ----------
    rows, rank : int
        Shape of V.
    block : callable
        Takes a slice and returns these rows of V, not centred.
    centre : ndarray of shape (rank,)
        Point that is subtracted from the rows of V.
    threads : int
    poll : Poll
    """

    rows: int
    rank: int
    block: Callable[[slice], Floats]
    centre: Floats
    threads: int
    poll: Poll

    def held(self) -> Factor:
        """Return the same factor with all rows of V in memory."""
        V = np.empty((self.rows, self.rank))

        def fill(part: slice) -> None:
            V[part] = self._centred(part)

        for _ in self._each(fill):
            pass
        return replace(self, block=lambda part: V[part], centre=np.zeros(self.rank))

    def centred(self) -> Factor:
        """Return the factor relative to the mean of the rows of V."""
        total = sum(self._each(lambda part: self._centred(part).sum(axis=0)), np.zeros(self.rank))
        return replace(self, centre=self.centre + total / max(1, self.rows))

    def normal(self, weight: Floats, columns: Floats) -> tuple[Floats, Floats]:
        """Return V' diag(weight) V and V' columns, from one pass over V."""
        if self.rank > _LARGE:
            return self._normal_by_tiles(weight, columns)
        square, product = np.zeros((self.rank, self.rank)), np.zeros((self.rank, columns.shape[1]))

        def of(part: slice) -> tuple[Floats, Floats]:
            V = self._centred(part)
            scaled = V * np.sqrt(weight[part])[:, None]
            return scaled.T @ scaled, V.T @ columns[part]

        for one, other in self._each(of, ahead=1):
            square += one
            product += other
        return square, product

    def _normal_by_tiles(self, weight: Floats, columns: Floats) -> tuple[Floats, Floats]:
        """Return the same, where threads share the matrix instead of the rows.

        A matrix of many columns does not stay in the cache, and adding it up once for each block of
        rows would take as long as computing it. Its lower half is cut into tiles that do stay. Each
        tile is computed by one thread at a time, from many blocks of rows.
        """
        ends = np.linspace(0, self.rank, ceil(self.rank / _TILE) + 1).astype(int).tolist()
        strips = [slice(start, stop) for start, stop in pairwise(ends)]
        widths = [one.stop - one.start for one in strips]
        lower = [(k, j) for k in range(len(strips)) for j in range(k + 1)]
        tiles = {(k, j): np.zeros((widths[k], widths[j])) for k, j in lower}
        parts = self._parts
        together = ceil(_ROWS_PER_TILE / parts[0].stop)
        scaled = [np.empty((together * parts[0].stop, width)) for width in widths]
        product = np.zeros((self.rank, columns.shape[1]))

        def fill(part: slice) -> Floats:
            V, root = self._centred(part), np.sqrt(weight[part])[:, None]
            for strip, lines in zip(strips, scaled, strict=True):
                np.multiply(V[:, strip], root, out=lines[part.start - first : part.stop - first])
            found: Floats = V.T @ columns[part]
            return found

        def add(place: tuple[int, int]) -> None:
            k, j = place
            tiles[place] += scaled[k][:count].T @ scaled[j][:count]

        with ThreadPoolExecutor(self.threads) as pool:
            for a in range(0, len(parts), together):
                group = parts[a : a + together]
                first, count = group[0].start, group[-1].stop - group[0].start
                self.poll.look()
                for one in pool.map(fill, group):
                    product += one
                list(pool.map(add, tiles))
        square = np.empty((self.rank, self.rank))
        for (k, j), tile in tiles.items():
            square[strips[k], strips[j]], square[strips[j], strips[k]] = tile, tile.T
        return square, product

    def transposed(self, q: Floats) -> Floats:
        """Return V' q."""
        total = np.zeros(self.rank)
        for one in self._each(lambda part: self._centred(part).T @ q[part]):
            total += one
        return total

    def column_sizes(self) -> Floats:
        """Return the root mean squares of the columns of V."""
        total = np.zeros(self.rank)
        for one in self._each(lambda part: np.square(self._centred(part)).sum(axis=0)):
            total += one
        return np.sqrt(total / max(1, self.rows))

    def accurate_transposed(self, q: Floats) -> Pair:
        """Return V' q with nearly all digits."""
        sums = [
            *self._each(lambda part: column_sums(*two_product(self._centred(part), q[part, None])))
        ]
        high, low = np.array(sums).transpose(1, 0, 2)
        return column_sums(high, low)

    def take(self, index: Ints) -> Floats:
        """Return some rows of V; `index` is ascending."""
        found = np.empty((len(index), self.rank))

        def fill(part: slice) -> None:
            a, b = np.searchsorted(index, [part.start, part.stop])
            if a < b:
                found[a:b] = self._centred(part)[index[a:b] - part.start]

        for _ in self._each(fill):
            pass
        return found

    def times(self, u: Floats) -> Floats:
        """Return V u."""
        found = np.empty(self.rows)

        def fill(part: slice) -> None:
            found[part] = self._centred(part) @ u

        for _ in self._each(fill):
            pass
        return found

    def _centred(self, part: slice) -> Floats:
        V = self.block(part)
        return V - self.centre if self.centre.any() else V

    @property
    def _parts(self) -> list[slice]:
        """Blocks of rows."""
        step = max(64, _VALUES_AT_ONCE // max(1, self.rank))
        return [slice(a, min(a + step, self.rows)) for a in range(0, self.rows, step)]

    def _each(self, function: Callable[[slice], Result], ahead: int = _AHEAD) -> Iterator[Result]:
        """Yield the results of a function of all blocks, in order; `ahead` for each thread wait."""
        parts = self._parts
        if self.threads == 1 or len(parts) == 1:
            for part in parts:
                self.poll.look()
                yield function(part)
            return
        together = ahead * self.threads
        with ThreadPoolExecutor(self.threads) as pool:
            for a in range(0, len(parts), together):
                self.poll.look()
                yield from pool.map(function, parts[a : a + together])


def rank_bound(kernel: Kernel, rows: int, columns: int) -> int:
    """Return a bound on the rank of a kernel matrix from the kernel alone."""
    count = columns if isinstance(kernel, Linear) else monomial_count(kernel, columns)
    return rows if count is None else min(rows, count)


def factor_of(
    gram: Gram, *, most: int, memory: int, centred: bool, threads: int, poll: Poll
) -> Factor:
    """Return the factor of a kernel matrix.

    Raises RankTooLarge if it has more than `most` columns, and NotPositive if there is none.

    Parameters
    ----------
    gram : Gram
        Kernel values of all rows; a diagonal term is not part of the factor.
    most : int
        Largest rank.
    memory : int
        Bytes for V.
    centred : bool
        True if the coefficients sum to zero.
    threads : int
    poll : Poll
    """
    rows = gram.shape[0]
    explicit = _features(gram, min(most, 2 * rows))
    if explicit is not None and explicit[0] <= min(most, 2 * rows):
        rank, block = explicit
        found = Factor(rows, rank, block, np.zeros(rank), threads, poll)
        found = found.centred() if centred else found
        return found.held() if 8 * rows * rank <= memory else found
    V = pivoted_cholesky(gram, min(most, memory // (16 * max(1, rows))), poll)
    if centred:
        V -= V.mean(axis=0)
    rank = V.shape[1]
    return Factor(rows, rank, lambda part: V[part], np.zeros(rank), threads, poll)


def _features(gram: Gram, most: int) -> tuple[int, Callable[[slice], Floats]] | None:
    """Return the number of features of a kernel of inner products, and a function of a slice."""
    kernel, columns = gram.kernel, gram.left.shape[1]

    def rows_of(part: slice) -> Floats:
        return features(gram.left, gram.left_index(np.arange(part.start, part.stop)))

    if isinstance(kernel, Linear):
        return columns, rows_of
    count = monomial_count(kernel, columns)
    if not isinstance(kernel, Poly) or count is None or count > most:
        return None
    monomials = Monomials.of(kernel, columns)
    return count, lambda part: monomials.plain(rows_of(part))
