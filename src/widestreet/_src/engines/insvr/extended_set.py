"""The extended set of nu-SVR: each sample twice, once for either side of the tube.

    g_v = sum_w Q_vw alpha_w - z_v y_v + z_v b + e,    Q_vw = scale z_v z_w K_vw,   0 <= alpha <= C

| set                  | alpha     | g    |                                         |
|----------------------|-----------|------|-----------------------------------------|
| MARGIN_VECTOR (S)    | in [0, C] | = 0  | on the edge of the tube                 |
| ERROR_VECTOR (E)     | C         | <= 0 | outside the tube                        |
| REMAINING_VECTOR (R) | 0         | >= 0 | inside the tube, or beyond its far edge |

Sample i is variable 2i with z = +1 (it pulls the function up to y - e) and variable 2i + 1 with
z = -1 (down to y + e); v ^ 1 is the other side of v.
"""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints

MARGIN_VECTOR, ERROR_VECTOR, REMAINING_VECTOR = 0, 1, -1

_BOUND_TOLERANCE = 1e-12  # of C: a variable this close to a bound is at the bound
_FIRST_CAPACITY = 16  # samples for which there is room at first


class ExtendedSet:
    """Samples, their kernel matrix and the present point.

    Attributes
    ----------
    C : float
    size : int
        Number of samples l; there are 2l variables.
    scale : float
        Factor of the kernel matrix in Q.
    bias, tube : float
        b and e of the gradient; one of the optimal values if they are not unique.
    """

    def __init__(self, C: float) -> None:
        self.C = C
        self.size = 0
        self.scale = 1.0
        self.bias = self.tube = 0.0
        self._K = np.zeros((_FIRST_CAPACITY, _FIRST_CAPACITY))
        self._y = np.zeros(_FIRST_CAPACITY)
        self._alpha, self._g = np.zeros(2 * _FIRST_CAPACITY), np.zeros(2 * _FIRST_CAPACITY)
        self._state = np.full(2 * _FIRST_CAPACITY, REMAINING_VECTOR, dtype=np.int8)

    # -- samples and variables ---------------------------------------------------------------------

    @property
    def K(self) -> Floats:
        return self._K[: self.size, : self.size]

    @property
    def y(self) -> Floats:
        return self._y[: self.size]

    @property
    def alpha(self) -> Floats:
        return self._alpha[: 2 * self.size]

    @property
    def g(self) -> Floats:
        return self._g[: 2 * self.size]

    @property
    def state(self) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
        """Set of each variable."""
        return self._state[: 2 * self.size]

    @property
    def z(self) -> Floats:
        return np.tile([1.0, -1.0], self.size)

    @property
    def linear_term(self) -> Floats:
        """Linear term z y of the objective."""
        return self.z * np.repeat(self.y, 2)

    @property
    def coef(self) -> Floats:
        """Net coefficients: the prediction is K coef + b."""
        return self.scale * (self.alpha[::2] - self.alpha[1::2])

    @property
    def margin(self) -> Ints:
        """Variables of the set S."""
        return np.flatnonzero(self.state == MARGIN_VECTOR)

    @property
    def doubled(self) -> Ints:
        """M+: the lower sides of the samples that are in S with both sides."""
        in_margin = self.state == MARGIN_VECTOR
        return 2 * np.flatnonzero(in_margin[::2] & in_margin[1::2]) + 1

    def Q(self, rows: Ints, columns: Ints) -> Floats:
        """Return a block of Q."""
        sign = np.outer(1.0 - 2.0 * (rows & 1), 1.0 - 2.0 * (columns & 1))
        block: Floats = self.scale * sign * self._K[np.ix_(rows >> 1, columns >> 1)]
        return block

    def gradient(self, bias: float, tube: float) -> Floats:
        """Return the gradient for any b and e."""
        f = self.K @ self.coef + bias - self.y
        return self.z * np.repeat(f, 2) + tube

    def residual(self) -> float:
        """Return the largest violation of the conditions on g."""
        in_margin = self.state == MARGIN_VECTOR
        violation = np.where(in_margin, np.abs(self.g), self.state * self.g)
        return float(np.max(violation, initial=0.0))

    def at_bounds(self, alpha: Floats) -> tuple[Bools, Bools]:
        """Return masks of the values of alpha that are zero, and that are C, up to rounding."""
        return alpha <= _BOUND_TOLERANCE * self.C, alpha >= (1.0 - _BOUND_TOLERANCE) * self.C

    # -- changes -----------------------------------------------------------------------------------

    def append(self, column: Floats, own: float, y: float) -> None:
        """Append a sample, in R with both sides. Sets: everything with an entry per sample."""
        n = self.size
        if n == len(self._y):
            self._reserve(2 * n)
        self._K[:n, n] = self._K[n, :n] = column
        self._K[n, n] = own
        self._y[n] = y
        self.size += 1
        self.state[-2:], self.alpha[-2:] = REMAINING_VECTOR, 0.0
        f = self.scale * float(column @ (self.alpha[:-2:2] - self.alpha[1:-2:2])) + self.bias - y
        self.g[-2:] = self.tube + f, self.tube - f

    def _reserve(self, samples: int) -> None:
        """Make room for samples. Sets: everything with an entry per sample."""
        extra = samples - len(self._y)
        self._K = np.pad(self._K, (0, extra))
        self._y = np.pad(self._y, (0, extra))
        self._alpha, self._g = np.pad(self._alpha, (0, 2 * extra)), np.pad(self._g, (0, 2 * extra))
        self._state = np.pad(self._state, (0, 2 * extra), constant_values=REMAINING_VECTOR)

    def refresh(self) -> None:
        """Compute the gradient from alpha, b and e. Sets: g."""
        self.g[:] = self.gradient(self.bias, self.tube)

    def leave(self, v: int, upwards: bool) -> None:
        """Put a variable on a bound and into R or E. Sets: alpha, state."""
        self.alpha[v] = self.C if upwards else 0.0
        self.state[v] = ERROR_VECTOR if upwards else REMAINING_VECTOR

    def leave_at_bounds(self) -> None:
        """Put the variables of S that are at a bound into R or E. Sets: alpha, state."""
        zero, full = self.at_bounds(self.alpha)
        in_margin = self.state == MARGIN_VECTOR
        for v in np.flatnonzero(in_margin & (zero | full)).tolist():
            self.leave(v, bool(full[v]))
