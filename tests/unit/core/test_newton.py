"""Newton steps on a tile: memory, precision and interrupts; test_newton has the mathematics."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import duals, kkt
from reference.duals import MODELS
from support.problems import random_feasible, toy_model
from widestreet import _core

pytestmark = pytest.mark.numeric

every_model = pytest.mark.parametrize("model", MODELS)


class Point:
    """A problem on a tile with room to spare, at a random feasible point."""

    def __init__(self, model: str, n: int = 60, room: int = 5, dtype: type = np.float64) -> None:
        _, K, qp = toy_model(model, n)
        self.dual = duals.in_beta_space(qp)
        self.n, self.K = n, K.astype(dtype).astype(np.float64)
        self.tile = np.full((n + room, n + room), np.nan, dtype)
        self.tile[:n, :n] = K
        start = random_feasible(self.dual, np.random.default_rng(0))
        self.beta = np.pad(start, ((0, 0), (0, room)), constant_values=np.nan)
        self.score = np.pad(self.K @ start.sum(axis=0), (0, room), constant_values=np.nan)
        arrays = (self.dual.target, self.dual.lower, self.dual.upper, self.dual.group)
        padded = [np.pad(a, ((0, 0), (0, room)), constant_values=7) for a in arrays]
        group = padded.pop().astype(np.uint8)
        self.variables = _core.Variables(*padded, group, groups=len(self.dual.totals), rows=n)

    @property
    def objective(self) -> float:
        return float(kkt.dual_objective(self.K, self.dual, self.beta[:, : self.n]))

    def steps(self, **options) -> bool:
        options = {"threads": 1} | options
        return _core.newton_steps(self.tile, self.variables, self.beta, self.score, **options)

    def check(self) -> None:
        beta = self.beta[:, : self.n]
        assert np.isnan(self.beta[:, self.n :]).all()
        assert kkt.feasibility(self.dual, beta) <= TOL.feasibility
        slack = TOL.twin * max(1.0, np.abs(beta).sum())
        np.testing.assert_allclose(
            self.score[: self.n], self.K @ beta.sum(axis=0), rtol=0, atol=slack
        )


@every_model
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [None, 3, 8 * 120**2])
def test_the_objective_rises_in_memory_of_any_size(model, dtype, size):
    point = Point(model, dtype=dtype)
    before = point.objective
    point.steps(scratch=None if size is None else np.empty(size, np.uint8))
    point.check()
    assert point.objective > before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_objective_rises_on_several_threads(dtype):
    """Of so many free variables that the matrix is filled by all of them."""
    point = Point("c_svc", 500, dtype=dtype)
    before = point.objective
    point.steps(threads=3)
    point.check()
    assert point.objective > before


@every_model
def test_an_interrupt_between_steps_leaves_the_point_in_order(model):
    point, calls = Point(model), []

    def poll() -> None:
        calls.append(None)
        if len(calls) == 2:
            raise KeyboardInterrupt

    def steps_twice() -> None:
        point.steps(poll=poll)
        point.steps(poll=poll)

    with pytest.raises(KeyboardInterrupt):
        steps_twice()
    point.check()


def test_what_is_not_finite_moves_nothing():
    point = Point("c_svc")
    point.tile[:] = np.nan
    before = point.beta.copy()
    assert not point.steps()
    assert np.array_equal(point.beta, before, equal_nan=True)
