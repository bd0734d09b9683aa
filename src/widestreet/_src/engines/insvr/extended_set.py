"""The extended set of nu-SVR: each sample twice, once for either side of the tube.

    g_v = sum_w Q_vw alpha_w - z_v y_v + z_v b + e,    Q_vw = scale z_v z_w K_vw,   0 <= alpha <= C

| set         | alpha     | g    |                                         |
|-------------|-----------|------|-----------------------------------------|
| MARGIN (S)  | in [0, C] | = 0  | on the edge of the tube                 |
| ERROR (E)   | C         | <= 0 | outside the tube                        |
| REST (R)    | 0         | >= 0 | inside the tube, or beyond its far edge |

Sample i is variable 2i with z = +1 (it pulls the function up to y - e) and variable 2i + 1 with
z = -1 (down to y + e); v ^ 1 is the other side of v. Everything moves along straight lines until a
variable has to change its set: `Move` is such a line, `Extended.largest` says how far it goes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Bools, Floats, Ints

MARGIN, ERROR, REST = 0, 1, -1
_NOISE = 1e-12  # of the terms of a rate: what is smaller is rounding
_ULPS = 1e-15  # of the largest of these terms: the same
_TIE = 1e-12  # relative: steps that are as long as each other
_AT_BOUND = 1e-12  # of C: nearer to a bound than this is not called free
_FIRST_ROOM = 16  # samples for which memory is taken at the beginning


@dataclass(frozen=True, eq=False)
class Move:
    """Rates of change along a line."""

    members: Ints  # the variables whose alpha moves
    rate: Floats  # of their alpha
    bias: float
    tube: float
    g: Floats  # of every variable
    noise: Floats  # rates of g below this are rounding


@dataclass(frozen=True)
class Interval:
    """The values that one threshold may have at an optimum."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return 0.5 * (self.low + self.high)


class Extended:
    """The samples, their kernel matrix and the point that moves.

    Attributes
    ----------
    C : float
    size : int
        Number of samples l; there are 2l variables.
    scale : float
        Of the kernel matrix in Q.
    bias, tube : float
        b and e of the gradient; where they are not unique, one of the possible values.
    """

    def __init__(self, C: float) -> None:
        self.C = C
        self.size = 0
        self.scale = 1.0
        self.bias = self.tube = 0.0
        self._K = np.zeros((_FIRST_ROOM, _FIRST_ROOM))
        self._y = np.zeros(_FIRST_ROOM)
        self._alpha, self._g = np.zeros(2 * _FIRST_ROOM), np.zeros(2 * _FIRST_ROOM)
        self._state = np.full(2 * _FIRST_ROOM, REST, dtype=np.int8)

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
        return self._state[: 2 * self.size]

    @property
    def z(self) -> Floats:
        return np.tile([1.0, -1.0], self.size)

    @property
    def pull(self) -> Floats:
        """The linear term z y of the objective."""
        return self.z * np.repeat(self.y, 2)

    @property
    def coef(self) -> Floats:
        """Net coefficients: the prediction is K coef + b."""
        return self.scale * (self.alpha[::2] - self.alpha[1::2])

    @property
    def margin(self) -> Ints:
        """The set S."""
        return np.flatnonzero(self.state == MARGIN)

    @property
    def doubled(self) -> Ints:
        """M+: the lower sides of the samples that are in S with both sides."""
        both = (self.state[::2] == MARGIN) & (self.state[1::2] == MARGIN)
        return 2 * np.flatnonzero(both) + 1

    def append(self, column: Floats, own: float, y: float) -> None:
        """One more sample, in R with both sides. Sets: everything with an entry per sample."""
        n = self.size
        if n == len(self._y):
            self._make_room(2 * n)
        self._K[:n, n] = self._K[n, :n] = column
        self._K[n, n] = own
        self._y[n] = y
        self.size += 1
        self.state[-2:], self.alpha[-2:] = REST, 0.0
        f = self.scale * float(column @ (self.alpha[:-2:2] - self.alpha[1:-2:2])) + self.bias - y
        self.g[-2:] = self.tube + f, self.tube - f

    def _make_room(self, room: int) -> None:
        extra = room - len(self._y)
        self._K = np.pad(self._K, (0, extra))
        self._y = np.pad(self._y, (0, extra))
        self._alpha, self._g = np.pad(self._alpha, (0, 2 * extra)), np.pad(self._g, (0, 2 * extra))
        self._state = np.pad(self._state, (0, 2 * extra), constant_values=REST)

    def Q(self, rows: Ints, columns: Ints) -> Floats:
        """A block of Q."""
        sign = np.outer(1.0 - 2.0 * (rows & 1), 1.0 - 2.0 * (columns & 1))
        block: Floats = self.scale * sign * self._K[np.ix_(rows >> 1, columns >> 1)]
        return block

    def refresh(self) -> None:
        """Compute the gradient from alpha, b and e. Sets: g."""
        self.g[:] = self.gradient(self.bias, self.tube)

    def gradient(self, bias: float, tube: float) -> Floats:
        """The gradient for any b and e."""
        f = self.K @ self.coef + bias - self.y
        return self.z * np.repeat(f, 2) + tube

    def move(
        self, members: Ints, rate: Floats, bias: float, tube: float, pull: Floats | None = None
    ) -> Move:
        """The line along which alpha, b and e have these rates, and z y the rate `pull`."""
        sign = 1.0 - 2.0 * (members & 1)
        f = self.scale * (self.K[:, members >> 1] @ (sign * rate)) + bias
        g = self.z * np.repeat(f, 2) + tube
        size = np.sqrt(np.maximum(self.K.diagonal(), 0.0))
        terms = self.scale * size * float(np.abs(rate) @ size[members >> 1]) + abs(bias) + abs(tube)
        if pull is not None:
            g -= pull
            terms += np.abs(pull[::2])
        largest = self.scale * float(size.max() ** 2 * np.abs(rate).sum()) + float(terms.max())
        return Move(members, rate, bias, tube, g, np.repeat(_NOISE * terms + _ULPS * largest, 2))

    def largest(self, move: Move, limit: float, by_index: bool = False) -> tuple[float, int | None]:
        """How far a line may be followed, and the variable that changes its set there.

        Parameters
        ----------
        limit : float
            A length at which the line ends; then no variable is named.
        by_index : bool
            Among events that coincide take the variable with the least index instead of the
            fastest: a rule that gets out of cycles.
        """
        who, ratio, speed = self._events(move)
        shortest = float(ratio.min(initial=np.inf))
        if not shortest < limit * (1.0 - _TIE):
            return limit, None
        tied = np.flatnonzero(ratio <= shortest * (1.0 + _TIE))
        best = tied[np.argmin(who[tied])] if by_index else tied[np.argmax(speed[tied])]
        return shortest, int(who[best])

    def _events(self, move: Move) -> tuple[Ints, Floats, Floats]:
        """Who reaches a bound or g = 0, when, and how fast for its kind."""
        rate = move.rate
        moving = np.abs(rate) > _NOISE * np.abs(rate).max(initial=0.0)
        members, rate = move.members[moving], rate[moving]
        alpha = self.alpha[members]
        to_bound = np.where(rate > 0, self.C - alpha, alpha) / np.abs(rate)
        wrong = (self.state == ERROR) & (move.g > move.noise)
        wrong |= (self.state == REST) & (move.g < -move.noise)
        wrong[move.members] = False
        others = np.flatnonzero(wrong)
        to_zero = np.abs(self.g[others]) / np.abs(move.g[others])
        to_zero[(self.g[others] > 0) == (move.g[others] > 0)] = 0.0  # rounding has taken it across
        speeds = [
            np.abs(values) / np.abs(values).max(initial=1e-300) for values in (rate, move.g[others])
        ]
        return (
            np.concatenate([members, others]),
            np.concatenate([np.maximum(to_bound, 0.0), to_zero]),
            np.concatenate(speeds),
        )

    def advance(self, move: Move, step: float) -> None:
        """Follow a line. Sets: alpha, g, bias, tube."""
        moved = self.alpha[move.members] + step * move.rate
        self.alpha[move.members] = np.clip(moved, 0.0, self.C)
        self.g[:] += step * move.g
        self.bias += step * move.bias
        self.tube += step * move.tube

    def leave(self, v: int, upwards: bool) -> None:
        """Put a variable on a bound and into R or E. Sets: alpha, state."""
        self.alpha[v] = self.C if upwards else 0.0
        self.state[v] = ERROR if upwards else REST

    def drop_bound(self) -> None:
        """Put what is in S but at a bound into R or E. Sets: alpha, state."""
        zero, full = self._at_bounds(self.alpha)
        inside = self.state == MARGIN
        for v in np.flatnonzero(inside & (zero | full)).tolist():
            self.leave(v, bool(full[v]))

    def residual(self) -> float:
        """The largest violation of the conditions on g."""
        worst = np.where(self.state == MARGIN, np.abs(self.g), self.state * self.g)
        return float(np.max(worst, initial=0.0))

    # -- the thresholds --------------------------------------------------------------------------

    def thresholds(self) -> tuple[float, float]:
        """The b and e to report: unique, or the middle of all that are possible (e >= 0)."""
        up, down = self.interval(0), self.interval(1)
        p, q = up.middle, down.middle  # b + e and -b + e
        room_p, room_q = up.high - p, down.high - q
        if p + q < 0 < room_p + room_q:
            share = min(1.0, -(p + q) / (room_p + room_q))
            p, q = p + share * room_p, q + share * room_q
        return 0.5 * (p - q), 0.5 * (p + q)

    def interval(self, side: int) -> Interval:
        """The values that z b + e may have: of the upper side (0) or of the lower one (1)."""
        sign = 1 - 2 * side
        needed = sign * self.bias + self.tube - self.g[side::2]  # of z b + e, for g = 0
        alpha = self.alpha[side::2]
        zero, full = self._at_bounds(alpha)
        free = ~(zero | full)
        if free.any():
            value = float(needed[free].mean())
            return Interval(value, value)
        low = float(np.max(needed[zero], initial=-np.inf))
        return Interval(low, float(np.min(needed[full], initial=np.inf)))

    def _at_bounds(self, alpha: Floats) -> tuple[Bools, Bools]:
        return alpha <= _AT_BOUND * self.C, alpha >= (1.0 - _AT_BOUND) * self.C
