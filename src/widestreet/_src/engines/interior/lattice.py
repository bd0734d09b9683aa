"""Integer points near a real one, in the norm of a matrix B: small |B (z - x)| for integers z.

B T = Q R with a matrix T of integers whose inverse has integers only, so that the integer points
are T times the integer points. The entries are rounded one after the other from the last to the
first; each makes up for the rounding errors of those before it (the nearest-plane method). What is
left is at most half of the diagonal of R. Therefore the columns of B are sorted so that the
shortest is the first, and `reduced` combines columns so that no diagonal entry is much larger than
the next.

References: Babai, On Lovasz' lattice reduction and the nearest lattice point problem, Combinatorica
6 (1986); Wuebben et al., Efficient algorithm for decoding layered space-time codes, Electronics
Letters 37 (2001); Lenstra, Lenstra and Lovasz, Factoring polynomials with rational coefficients,
Mathematische Annalen 261 (1982).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.kernels.poll import Poll

_LOVASZ = 0.75  # largest decrease of a diagonal entry, squared, that is left as it is
_MOST_SWAPS = 20_000
_SWAPS_AT_ONCE = 100  # between two looks at the clock
_PASSES = 2  # of the orthogonalisation: the second one removes the rounding of the first


@dataclass(frozen=True, eq=False)
class Lattice:
    """The points B z for integers z, and a basis T of the integers in which R is triangular.

    Attributes
    ----------
    M, R, T : ndarray of shape (k, k)
        Q'B, its triangular form R = M T, and the basis.
    """

    M: Floats
    R: Floats
    T: Floats

    @classmethod
    def of(cls, B: Floats) -> Lattice:
        """Orthogonalise the columns of B, in each step the shortest that is left."""
        Q, k = B.copy(), B.shape[1]
        R, T = np.zeros((k, k)), np.eye(k)
        for i in range(k):
            j = i + int(np.argmin(np.einsum("ij,ij->j", Q[:, i:], Q[:, i:])))
            for matrix in (Q, R, T):
                matrix[:, [i, j]] = matrix[:, [j, i]]
            R[i, i] = np.linalg.norm(Q[:, i])
            if R[i, i] == 0:
                continue
            Q[:, i] /= R[i, i]
            for _ in range(_PASSES):
                part = Q[:, i] @ Q[:, i + 1 :]
                R[i, i + 1 :] += part
                Q[:, i + 1 :] -= np.outer(Q[:, i], part)
        return cls(R @ T.T, R, T)

    def reduced(self, poll: Poll) -> Lattice:
        """Return the same points with a basis of shorter and more orthogonal vectors."""
        R, T, W = self.R.copy(), self.T.copy(), np.eye(len(self.R))
        i = 1
        for swaps in range(_MOST_SWAPS):
            if i >= len(R):
                break
            if swaps % _SWAPS_AT_ONCE == 0:
                poll.look()
            _shorten(R, T, i, i - 1)
            if R[i, i] ** 2 + R[i - 1, i] ** 2 >= _LOVASZ * R[i - 1, i - 1] ** 2:
                for j in range(i - 2, -1, -1):
                    _shorten(R, T, i, j)
                i += 1
                continue
            for matrix in (R, T):
                matrix[:, [i - 1, i]] = matrix[:, [i, i - 1]]
            turn = _rotation(R[i - 1, i - 1], R[i, i - 1])
            R[i - 1 : i + 1, i - 1 :] = turn @ R[i - 1 : i + 1, i - 1 :]
            R[i, i - 1] = 0.0
            W[i - 1 : i + 1] = turn @ W[i - 1 : i + 1]
            i = max(i - 1, 1)
        return Lattice(W @ self.M, R, T)

    def nearest(self, x: Floats) -> Floats:
        """Return integers near x, as floats."""
        left = self.M @ x
        z = np.zeros(len(left))
        for i in range(len(z) - 1, -1, -1):
            if self.R[i, i] != 0:
                z[i] = np.rint(left[i] / self.R[i, i])
                left -= z[i] * self.R[:, i]
        return self.T @ z


def _shorten(R: Floats, T: Floats, i: int, j: int) -> None:
    """Subtract a multiple of an earlier column from a column. Sets: R, T."""
    if abs(R[j, i]) > 0.5 * abs(R[j, j]) > 0:
        times = np.rint(R[j, i] / R[j, j])
        R[: j + 1, i] -= times * R[: j + 1, j]
        T[:, i] -= times * T[:, j]


def _rotation(a: float, b: float) -> Floats:
    """Return the rotation that turns (a, b) into (r, 0) with r >= 0."""
    r = np.hypot(a, b)
    c, s = (a / r, b / r) if r > 0 else (1.0, 0.0)
    return np.array([[c, s], [-s, c]])
