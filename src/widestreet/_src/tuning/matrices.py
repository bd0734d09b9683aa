"""Kernel matrices of the same rows for one kernel after the other, in few buffers.

RBF kernels of several widths share the squared distances between the rows, computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints, Real
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Kernel, Linear
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import Rows
from widestreet._src.shards.runner import LocalRunner

_APART = 16  # values between two rows of a matrix, so that a column uses more than one cache set
_ROUND_TO = 16
_STRIP = 128  # rows computed at a time
_LEAST_EXPONENT = -700.0  # exponentials of less are denormal numbers, which take long
MANY_COLUMNS = 64  # fewer make a kernel value cheaper than the exponential of a stored distance


def matrix_memory(rows: int, *, rounded: bool = False) -> int:
    """Return the bytes of a kernel matrix, with its values in float32 beside it if `rounded`."""
    return (12 if rounded else 8) * rows * (rows + _ROUND_TO + _APART)


class KernelMatrices:
    """Kernel matrices between distinct rows.

    Parameters
    ----------
    rows : callable
        Takes a kernel and returns the rows for it, centred or not.
    kept : ndarray
        Positions of the distinct rows.
    share : bool
        Whether distances are kept for further RBF kernels.
    threads : int
    """

    def __init__(
        self, rows: Callable[[Kernel], Rows], kept: Ints, *, share: bool, threads: int
    ) -> None:
        self._rows, self._kept, self._share, self._threads = rows, kept, share, threads
        self._buffers: dict[int, Floats] = {}
        self._rounded: dict[int, Real] = {}
        self._distances: Floats | None = None

    def gram(self, kernel: Kernel) -> Gram:
        """Return the kernel values, not stored."""
        return Gram(kernel, self._rows(kernel), threads=self._threads).select(self._kept)

    def matrix(self, kernel: Kernel, poll: Poll, number: int = 0) -> Floats:
        """Return the kernel matrix; it overwrites the one with the same number."""
        if number not in self._buffers:
            self._buffers[number] = self._empty()
        buffer = self._buffers[number]
        if isinstance(kernel, RBF) and self._share:
            self._exponentials(kernel.gamma, buffer, poll)
        else:
            self.gram(kernel).block(out=buffer, poll=poll)
        return buffer

    def rounded(self, poll: Poll, number: int = 0) -> Real | None:
        """Return the matrix with a number in float32; it overwrites the one before.

        None if its largest values are infinite in float32.
        """
        if np.abs(self._buffers[number].diagonal()).max(initial=0.0) > np.finfo(np.float32).max:
            return None
        if number not in self._rounded:
            self._rounded[number] = self._empty(np.float32)
        matrix, out = self._buffers[number], self._rounded[number]

        def fill(begin: int) -> None:
            strip = slice(begin, begin + _STRIP)
            with np.errstate(over="ignore"):  # single values of an indefinite kernel
                out[strip] = matrix[strip]

        poll.look()
        LocalRunner(self._threads).map(fill, range(0, len(out), _STRIP))
        return out

    def _empty(self, dtype: Any = np.float64) -> Any:
        size = len(self._kept)
        length = -(-size // _ROUND_TO) * _ROUND_TO + _APART
        return np.empty((size, length), dtype=dtype)[:, :size]

    def _exponentials(self, gamma: float, out: Floats, poll: Poll) -> None:
        """Write the RBF kernel of the squared distances. Sets: out."""
        if self._distances is None:
            self._distances = self._squared_distances(poll)
        squared = self._distances

        def fill(begin: int) -> None:
            strip = slice(begin, begin + _STRIP)
            np.multiply(squared[strip], -gamma, out=out[strip])
            np.maximum(out[strip], _LEAST_EXPONENT, out=out[strip])
            np.exp(out[strip], out=out[strip])

        poll.look()
        LocalRunner(self._threads).map(fill, range(0, len(out), _STRIP))

    def _squared_distances(self, poll: Poll) -> Floats:
        """Return |x|^2 + |s|^2 - 2 x.s, from products of centred rows."""
        rows = self._rows(RBF(1.0))
        found: Floats = self._empty()
        Gram(Linear(), rows, threads=self._threads).select(self._kept).block(out=found, poll=poll)
        square = found.diagonal().copy()
        for begin in range(0, len(found), _STRIP):
            strip = found[begin : begin + _STRIP]
            strip *= -2.0
            strip += square
            strip += square[begin : begin + _STRIP, None]
            np.maximum(strip, 0.0, out=strip)
        np.fill_diagonal(found, 0.0)
        return found
