"""One path of the path engine, on the way from one set of data to another.

engines/path.py explains the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from widestreet import _core
from widestreet._src.arrays import Bools, Bytes, Floats, Ints
from widestreet._src.engines.homotopy.active_rows import Sight

if TYPE_CHECKING:
    from widestreet._src.engines.homotopy.parametric_optimum import Path

LOWER, FREE, UPPER = 0, 1, 2

_STILL = 1e-13  # slopes below this part of the largest do not count
_ZERO_STEPS = 30  # in a row, after which the first variable by number goes first
_TANGLED = 300  # in a row, after which ties are broken by force
_APART = 1e-9  # of the targets' scale, by which they are
_NEARLY = 1e-9  # part of the way at the end of which nothing may be left to move
_NO_WAY = 1e-13  # steps shorter than this do not count as such
_NOTHING = 1e-12  # of the change of a box: what a total need not change by
_ROUNDED = 1e-14  # the same of a sum: what its rounding may be
_NOISE = 1e-13  # of the terms of a slope: what may be rounding
_RIGHT = 1e-12  # of the targets' scale: h that is as good as zero
_END = 1e-14  # what is left of the way when it is over


class NoSolution(ValueError):  # noqa: N818 - it says what there is not
    """The constraints cannot be met beyond some part of the way."""

    def __init__(self, theta: float, group: int) -> None:
        super().__init__(f"no feasible point beyond theta={theta:g}: group {group} is exhausted")
        self.theta, self.group = theta, group


@dataclass(frozen=True, eq=False)
class Ends:
    """Where targets, boxes and totals go; None leaves them as they are."""

    target: Floats | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    total: Floats | None = None


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a path on which nothing but straight lines happens.

    Attributes
    ----------
    theta, length : float
        Where it begins, and how long it is.
    free : ndarray
        Variables that are free on it.
    beta, change : ndarray
        Their values at the beginning, and what these change by per unit of theta.
    at_upper : ndarray of uint8
        Bits: which variables sit at their upper bounds.
    """

    theta: float
    length: float
    free: Ints
    beta: Floats
    change: Floats
    at_upper: Bytes


Surveyor: TypeAlias = Callable[[Segment], None]


@dataclass
class Counts:
    """What happened on paths."""

    steps: int = 0
    entered: int = 0
    left: int = 0
    rays: int = 0
    exchanges: int = 0
    zero_steps: int = 0
    untangled: int = 0
    overlooked: int = 0


class Walk:
    """One path, on the way; of `near` bound variables sight.py tells."""

    def __init__(
        self, path: Path, ends: Ends, observe: Surveyor | None = None, near: int | None = None
    ) -> None:
        self.path, self.ends, self.observe = path, ends, observe
        self.theta = 0.0
        self.goal = path.target.copy() if ends.target is None else ends.target
        self.apart: Floats | None = None  # what targets have beside, at the end to be taken back
        self._zero = 0  # steps of length zero, in a row
        self._pulls = 0  # times that ties were broken by force
        self.d_target = _way(path.target, ends.target)
        self.d_lower = _way(path.lower, ends.lower)
        self.d_upper = _way(path.upper, ends.upper)
        self.d_total = _way(path.total, ends.total)
        widest = max(float(np.abs(d).max(initial=0.0)) for d in (self.d_lower, self.d_upper))
        self._nothing = _NOTHING * widest + _ROUNDED * float(np.abs(path.beta).sum())
        self.d_total[np.abs(self.d_total) <= self._nothing] = 0.0  # `correct` sees to that
        moving = (self.d_target != 0) | (self.d_lower != 0) | (self.d_upper != 0)
        by_row = moving.reshape(-1, path.layers).any(axis=1)
        self.sight = Sight(path, by_row, near if observe is None else 0)
        self._seat()
        self._carry()

    @property
    def arrived(self) -> bool:
        return self.theta >= 1.0 - _END

    @property
    def tangled(self) -> bool:
        return self._zero >= _TANGLED

    def _seat(self) -> None:
        """Bound variables whose box has no width sit where their h wants them. Sets: place."""
        path = self.path
        flat = (path.upper == path.lower) & (path.place != FREE)
        path.place[flat] = np.where(path.slack()[flat] > 0, UPPER, LOWER)

    def _carry(self) -> None:
        """What bounds carry along. Sets: carried (of variables), moved (of scores), sums."""
        path = self.path
        self.carried = np.where(
            path.place == UPPER, self.d_upper, np.where(path.place == LOWER, self.d_lower, 0.0)
        )
        self.sums = np.bincount(path.group, weights=self.carried, minlength=path.groups)
        self.moved = path.product(self.carried.reshape(-1, path.layers).sum(axis=1))

    def _reseat(self, variable: int, column: Floats | None = None) -> None:
        """A variable changed its set: its bound carries it along, or no longer, or another one.

        Sets: carried, moved, sums.
        """
        path = self.path
        to = path.place[variable]
        new = 0.0
        if to != FREE:
            new = float((self.d_upper if to == UPPER else self.d_lower)[variable])
        change = new - self.carried[variable]
        if change == 0.0:
            return
        self.carried[variable] = new
        self.sums[path.group[variable]] += change
        self.moved += change * (path.column(variable) if column is None else column)

    # -- a step ------------------------------------------------------------------------------------

    def step(self) -> None:
        """Go to the next breakpoint. Sets: everything."""
        path = self.path
        path.counts.steps += 1
        if self._zero == _ZERO_STEPS:
            self._carry()  # it may be rounding of what came and went that turns to and fro
        second = self.d_total - self.sums
        group = self._without_free(second)
        if group is not None:
            self._look_around()
            self._ray(group, float(second[group]))
            return
        if self.sight.worn():
            self._look_around()
        rows = None if isinstance(path.watched, slice) else path.watched
        free = path.free.variables
        change, turn = path.free.solve(self.d_target[free] - self.moved[path.free.rows], second)
        d_beta = self.carried.copy()
        d_beta[free] = change
        d_score = self._d_score(change, turn)
        native = _core.Walk(
            path.layers, path.target, path.lower, path.upper, path.beta, path.group, path.place,
            path.score, path.bias, self.d_target, self.d_lower, self.d_upper, d_beta, d_score,
            turn, rows,
        )  # fmt: skip
        length, variable, to = self._nearest(native, change, turn)
        if self.observe is not None and length > 0:
            upper = np.packbits(path.place == UPPER)
            self.observe(Segment(self.theta, length, free, path.beta[free], change, upper))
        native.advance(length)
        path.bias += length * turn
        path.total += length * self.d_total
        self.theta += length
        if path.due():
            self._look_around()
            path.refresh()
        if variable < 0:
            return
        if rows is None and self.sight.pays:
            slope = self.d_target - np.repeat(d_score, path.layers) - turn[path.group]
            self.sight.narrow(slope, variable)
        self._zero = self._zero + 1 if length <= _NO_WAY else 0
        path.counts.zero_steps += length <= _NO_WAY
        if to == FREE:
            self._enter(variable)
        else:
            path.counts.left += 1
            column = path.column(variable)
            path.leave(variable, to)
            self._reseat(variable, column)

    def _d_score(self, change: Floats, turn: Floats) -> Floats:
        """What scores change by, of the rows that are looked at: of free ones, what makes h = 0."""
        free, watched = self.path.free, self.path.watched
        if isinstance(watched, slice):
            return self.moved + free.spread(change)
        bound = np.zeros(len(self.moved), dtype=bool)
        bound[watched] = True
        bound[free.rows] = False
        rows = np.flatnonzero(bound)
        d_score = self.moved.copy()
        d_score[rows] += free.spread(change, rows)
        d_score[free.rows] = self.d_target[free.variables] - turn[free.group]
        return d_score

    def _rest(self, change: Floats, turn: Floats) -> float:
        """What rounding leaves of the slopes of h of free variables."""
        free = self.path.free
        slope = self.d_target[free.variables] - self.moved[free.rows] - turn[free.group]
        return float(np.abs(slope - free.spread(change, free.rows)).max(initial=0.0))

    def _nearest(self, native: _core.Walk, change: Floats, turn: Floats) -> tuple[float, int, int]:
        """The nearest breakpoint: how far, whose it is (-1: the end), and where that one goes.

        Variables that seem to violate at once, by a slope that is rounding, stay where they are.
        """
        path, left = self.path, 1.0 - self.theta
        passed_over: list[int] = []
        while True:
            length, variable, to, slope, rest = native.nearest(
                _STILL, _NO_WAY, self._zero >= _ZERO_STEPS, np.array(passed_over, dtype=np.int64)
            )
            if length >= left:
                return left, -1, FREE
            if to != FREE or length > _NO_WAY:
                return length, variable, to
            row = variable // path.layers
            if not self.sight.whole:
                rest = self._rest(change, turn)
            terms = float(np.abs(path.free.values(row)) @ np.abs(change)) + abs(self.moved[row])
            if abs(slope) > 10.0 * rest + _NOISE * terms:
                return length, variable, to
            passed_over.append(variable)

    def _without_free(self, second: Floats) -> int | None:
        """A group whose total must change without a free variable to do it."""
        for g, present in enumerate(self.path.free.present(self.path.groups)):
            if not present and abs(second[g]) > self._nothing:
                return g
        return None

    def _movable(self) -> Bools:
        """Variables that are not held in a box without width."""
        path = self.path
        open_: Bools = (path.upper > path.lower) | (self.d_upper > self.d_lower)
        return open_

    def _ray(self, group: int, need: float) -> None:
        """Move a bias until a variable that can move the right way is free. Sets: bias, place."""
        path = self.path
        path.counts.rays += 1
        up = need > 0
        able = (path.place == (LOWER if up else UPPER)) & (path.group == group) & self._movable()
        candidates = np.flatnonzero(able)
        if len(candidates) == 0:
            if self.theta < 1.0 - _NEARLY:
                raise NoSolution(self.theta, group)
            self.theta = 1.0  # the last row is gone but for rounding
            return
        h = path.slack()[candidates]
        at = int(np.argmax(h) if up else np.argmin(h))
        path.bias[group] += h[at]
        self._enter(int(candidates[at]))

    def _enter(self, variable: int) -> None:
        for other, _ in [*self.path.enter(variable), (variable, FREE)]:
            self._reseat(other)

    def _look_around(self) -> None:
        """Look at all rows; those that were overlooked get targets that make them right.

        Sets: score, target, apart.
        """
        path = self.path
        if self.sight.whole:
            return
        unseen = self.sight.widen() & (path.upper > path.lower)
        h = path.slack()
        right = _RIGHT * max(1.0, float(np.abs(path.target).max(initial=0.0)))
        wrong = np.where(path.place == UPPER, h < -right, (path.place == LOWER) & (h > right))
        wrong &= unseen
        if wrong.any():
            path.counts.overlooked += int(np.count_nonzero(wrong))
            self._put_apart(np.where(wrong, -h, 0.0))

    def give_up_at(self, most: int) -> None:
        """Raise rather than break ties by force more often than that."""
        self._pulls += 1
        if self._pulls > most:
            raise RuntimeError(
                f"the path turns in a circle at theta={self.theta:g}: rounding is larger than what "
                "there is to decide; scale the features or targets, or lower C"
            )

    def _put_apart(self, extra: Floats) -> None:
        """Sets: apart, target."""
        self.apart = extra if self.apart is None else self.apart + extra
        self.path.target += extra

    def pull_apart(self, rng: np.random.Generator) -> None:
        """Move h of bound variables away from zero by random amounts. Sets: apart, target."""
        path = self.path
        scale = _APART * max(1.0, float(np.abs(path.target).max(initial=0.0)))
        amount = scale * (1.0 + rng.random(len(path.target)))
        sign = np.where(path.place == UPPER, 1.0, np.where(path.place == LOWER, -1.0, 0.0))
        self._put_apart(sign * amount)
        self._zero = 0

    def end(self) -> None:
        """Be exactly where the data were to go. Sets: data, and beta of bound variables."""
        path, ends = self.path, self.ends
        self._look_around()
        for name in ("lower", "upper", "total"):
            given = getattr(ends, name)
            if given is not None:
                setattr(path, name, given.copy())
        path.target = self.goal.copy() if self.apart is None else self.goal + self.apart
        for to, bound in ((LOWER, path.lower), (UPPER, path.upper)):
            there = path.place == to
            path.beta[there] = bound[there]
        path.seat()
        if path.correct():
            path.seat()  # those that rounding had kept away from their bounds
        np.clip(path.beta, path.lower, path.upper, out=path.beta)  # rounding may have led outside
        path.centre()


def _way(now: Floats, end: Floats | None) -> Floats:
    """How far each value has to go."""
    return np.zeros_like(now) if end is None else end - now
