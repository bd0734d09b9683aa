"""Steps of a working set on a device: the dual rises, sums and bounds hold, scores are K c."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from support.devices import device_of, values
from widestreet._src.device.contract import Map, Variables

ROWS = 24


def variables(y: np.ndarray, tube: float) -> Variables:
    """Return variables at zero: of a classifier, or of a regression with a tube."""
    nothing, box = np.zeros(len(y)), np.full(len(y), 2.0)
    if tube:
        return Variables(nothing, nothing, y - tube / 2, np.full(len(y), tube), -box, box)
    lower, upper = np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0)
    return Variables(nothing, nothing, y, nothing, lower, upper)


class Problem:
    """A working set of some rows that a device holds, with its kernel matrix."""

    def __init__(self, rng: np.random.Generator, by: Map, tube: float, double: bool = True) -> None:
        X = rng.normal(size=(ROWS + 9, 3))
        rows = rng.permutation(len(X))[:ROWS]
        y = X[rows, 0] + 0.5 * rng.normal(size=ROWS)
        self.variables = variables(y if tube else np.where(y > 0, 1.0, -1.0), tube)
        self.K = values(by, X[rows] * by.factor, X[rows] * by.factor)
        device = device_of("triton")
        self.work = device.work(
            by, device.hold(X, None, by), rows, self.variables, 1e-4, double=double
        )

    def checked(self, error: float = TOL.twin) -> float:
        """Return the dual objective of a point that is feasible and has the right scores."""
        c, score = self.work.result()
        v, size = self.variables, max(1.0, np.abs(c).sum())
        assert ((v.lower <= c) & (c <= v.upper)).all()
        assert abs(c.sum()) <= TOL.twin * size
        np.testing.assert_allclose(score, self.K @ c, rtol=0, atol=error * size)
        tubes = (v.tube * np.minimum(c, 0.0)).sum()
        return float(v.target @ c + tubes - 0.5 * c @ self.K @ c)


@pytest.mark.parametrize("tube", [0.0, 0.4])
def test_steps_raise_the_dual(tube, rng):
    problem = Problem(rng, Map("rbf", 0.7), tube)
    work, first = problem.work, problem.work.look()
    look = work.pairs(32, (0.5, 0.5), 1e-4, 0.1, 6, blocks=2)
    assert 0 < look.steps <= 12
    before = problem.checked()
    assert before > 0.0
    work.pairs(64, (1.0, 1.0), 1e-4, 0.0, 25)
    after = problem.checked()
    assert after > before
    look = work.newton(0.03, 8)
    assert problem.checked() >= after - TOL.twin
    assert look.violation < 0.5 * first.violation


def test_rows_set_aside_return_with_present_scores(rng):
    problem = Problem(rng, Map("poly", 0.5, 1.0, 2), 0.0)
    work = problem.work
    work.pairs(64, (1.0, 1.0), 1e-3, 0.0, 12)
    work.set_aside(0.05)
    few = work.active
    assert 0 < few < ROWS
    work.pairs(64, (1.0, 1.0), 1e-6, 0.0, 3)
    problem.checked()  # scores of all rows, before they are active again
    work.take_back()
    assert work.active == ROWS


def test_half_precision(rng):
    problem = Problem(rng, Map("rbf", 0.7), 0.0, double=False)
    problem.work.pairs(64, (1.0, 1.0), 1e-3, 0.0, 5)
    problem.checked(TOL.scan_float32)


def test_a_solved_set_does_not_move(rng):
    problem = Problem(rng, Map("rbf", 0.7), 0.0)
    problem.work.pairs(64, (1.0, 1.0), 10.0, 0.0, 30)
    coef, _ = problem.work.result()
    assert not coef.any()


def test_coefficients_at_a_bound_are_not_free(rng):
    problem = Problem(rng, Map("rbf", 0.7), 0.0)
    v = replace(problem.variables, coef=problem.variables.upper.copy())
    work = problem.work
    work.lines[0] = work.device.to(v.coef)
    assert work.look().free == 0
