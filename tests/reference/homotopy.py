"""Where the optimum of a dual whose data move on straight lines has its next kink.

With h = target - score - bias, a free variable has h = 0 and is inside its box, one at its lower
bound has h <= 0, one at its upper bound h >= 0. The next kink is where one of these ends.
Variable v belongs to row v // layers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

LOWER, FREE, UPPER = 0, 1, 2


@dataclass(frozen=True)
class State:
    """Values of variables, rows (score) and groups (bias), and what they change by (d_)."""

    layers: int
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    beta: np.ndarray
    group: np.ndarray
    bound_state: np.ndarray
    score: np.ndarray
    bias: np.ndarray
    d_target: np.ndarray
    d_lower: np.ndarray
    d_upper: np.ndarray
    d_beta: np.ndarray
    d_score: np.ndarray
    d_bias: np.ndarray

    @property
    def slack(self) -> np.ndarray:
        """h."""
        return self.target - np.repeat(self.score, self.layers) - self.bias[self.group]

    @property
    def slope(self) -> np.ndarray:
        """What h changes by."""
        return self.d_target - np.repeat(self.d_score, self.layers) - self.d_bias[self.group]


TINY = np.finfo(float).tiny  # the width of a box without width


class Kink(NamedTuple):
    """How far it is, whose it is (-1: nobody's) and where that one goes, and slopes of h."""

    length: float
    variable: int
    to: int
    slope: float
    rest: float


@np.errstate(over="ignore")  # to infinity: what moves so slowly meets nothing
def ways(state: State, still: float) -> list[tuple[float, int, float]]:
    """Of every variable, how far it may go, where it would be then, and how fast it goes there."""
    slack, slope, free = state.slack, state.slope, state.bound_state == FREE
    small = still * max(1.0, np.abs(slope).max(initial=0.0))
    tiny = still * max(1.0, np.abs(state.d_beta).max(initial=0.0))
    found = []
    for v in range(len(slack)):
        ends = [(np.inf, FREE, 0.0)]
        width = max(state.upper[v] - state.lower[v], TINY)
        if free[v]:
            down = state.d_lower[v] - state.d_beta[v]  # what it comes nearer to its bounds by
            up = state.d_beta[v] - state.d_upper[v]
            if down > tiny:
                ends.append((max(0.0, state.beta[v] - state.lower[v]) / down, LOWER, down / width))
            if up > tiny:
                ends.append((max(0.0, state.upper[v] - state.beta[v]) / up, UPPER, up / width))
        elif state.upper[v] > state.lower[v] or state.d_upper[v] > state.d_lower[v]:
            sign = 1.0 if state.bound_state[v] == LOWER else -1.0
            if sign * slope[v] > small:
                speed = sign * slope[v] / max(1.0, abs(state.target[v]))
                ends.append((max(0.0, -sign * slack[v]) / (sign * slope[v]), FREE, speed))
        found.append(min(ends))
    return found


def nearest(state: State, still: float, no_way: float, first: bool, passed_over) -> Kink:
    """The nearest kink; with `first`, the first by number of those hardly farther."""
    free = state.bound_state == FREE
    rest = np.abs(state.slope[free]).max(initial=0.0)
    able = {v: way for v, way in enumerate(ways(state, still)) if v not in set(passed_over)}
    length = min((way[0] for way in able.values()), default=np.inf)
    if length == np.inf:
        return Kink(np.inf, -1, FREE, 0.0, rest)
    margin = no_way if first else 0.0
    tied = [
        v
        for v, (way, _, speed) in able.items()
        if way == length or (way - length) * max(1.0, speed) <= margin
    ]
    variable = min(tied)
    return Kink(length, variable, able[variable][1], float(state.slope[variable]), rest)


def advance(state: State, length: float) -> State:
    """Everything after a step, but for the biases."""
    moved = {
        name: getattr(state, name) + length * getattr(state, "d_" + name)
        for name in ("target", "lower", "upper", "beta", "score")
    }
    return replace(state, **moved)
