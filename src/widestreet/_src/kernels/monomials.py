"""Features of polynomial kernels: the monomials of (gamma x.s + coef0)^degree.

With x.s extended by a constant variable, the power is a sum over all products of `degree`
variables, each of them with a multinomial coefficient:

    K(x, s) = sum_k root_k^2 m_k(x) m_k(s),     root_k^2 = multinomial_k gamma^(...) coef0^(...)
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.kernels.double_double import Pair
from widestreet._src.kernels.kernels import Kernel, Poly

_DIGITS = 50  # decimal digits of the roots before they are rounded


def monomial_count(kernel: Kernel, columns: int) -> int | None:
    """Return the number of features of a polynomial kernel; None for any other kernel."""
    if not isinstance(kernel, Poly) or kernel.gamma <= 0 or kernel.coef0 < 0 or kernel.degree < 1:
        return None
    return comb(columns + (kernel.coef0 > 0) + kernel.degree - 1, kernel.degree)


@dataclass(frozen=True, eq=False)
class Monomials:
    """Map of rows to the features of a polynomial kernel.

    Attributes
    ----------
    index : ndarray of shape (degree, features)
        Variables of each monomial; the variable after the last column is the constant 1.
    root : Pair of ndarray of shape (features,)
    constant : bool
        True if there is a constant variable.
    """

    index: Ints
    root: Pair
    constant: bool

    @classmethod
    def of(cls, kernel: Poly, columns: int) -> Monomials:
        """List the monomials of so many columns."""
        constant = kernel.coef0 > 0
        chosen = list(combinations_with_replacement(range(columns + constant), kernel.degree))
        index = np.array(chosen, dtype=np.int64).reshape(-1, kernel.degree)
        found: dict[tuple[int, ...], tuple[float, float]] = {}
        roots = []
        for variables in chosen:
            counts = tuple(variables.count(v) for v in sorted(set(variables) - {columns}))
            if counts not in found:
                found[counts] = _root(kernel, counts)
            roots.append(found[counts])
        high, low = np.array(roots).T
        return cls(np.ascontiguousarray(index.T), Pair(high, low), constant)

    def plain(self, X: Floats) -> Floats:
        """Return the features of some rows in float64."""
        X = self._extended(X)
        V = X[:, self.index[0]] * self.root.high
        for line in self.index[1:]:
            V *= X[:, line]
        return V

    def pairs(self, X: Floats) -> Pair:
        """Return the features of some rows with all their digits."""
        X = self._extended(X)
        V = Pair(np.broadcast_to(self.root.high, (len(X), len(self.root.high))), self.root.low)
        for line in self.index:
            V = V.times(Pair(X[:, line], np.zeros(1)))
        return V

    def _extended(self, X: Floats) -> Floats:
        return np.column_stack([X, np.ones(len(X))]) if self.constant else X


def _root(kernel: Poly, counts: tuple[int, ...]) -> tuple[float, float]:
    """Return the root of the coefficient of a monomial with these exponents, as a pair."""
    used = sum(counts)
    rest = kernel.degree - used
    ways = factorial(kernel.degree) // (prod(map(factorial, counts)) * factorial(rest))
    with localcontext() as context:
        context.prec = _DIGITS
        square = ways * Decimal(kernel.gamma) ** used
        square *= Decimal(kernel.coef0) ** rest if rest else 1
        root = square.sqrt()
        high = float(root)
        return high, float(root - Decimal(high))
