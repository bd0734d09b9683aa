"""The path engine: the exact optimum of a dual whose data change."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from conftest import TOL
from fitting import in_reference_terms
from reference import kernels, kkt
from widestreet._src.engines.homotopy import homotopy as walk
from widestreet._src.engines.homotopy.parametric_optimum import Ends, NoSolution, Path, closed
from widestreet._src.problems import dual as duals
from widestreet._src.problems import formulations

pytestmark = pytest.mark.numeric

MODELS = ("c_svc", "eps_svr", "nu_svr", "one_class", "nu_svc")
KERNELS = {
    "rbf": {"gamma": 1.0},
    "linear": {},
    "poly": {"gamma": 1.0, "coef0": 1.0, "degree": 2},
}


class World:
    """Rows of which some are there, with a weight, and the path over all of them."""

    def __init__(self, model: str, kernel: str, seed: int, n: int = 24) -> None:
        rng = self.rng = np.random.default_rng([seed, MODELS.index(model)])
        self.model, self.n = model, n
        X = np.round(rng.normal(size=(n, int(rng.integers(1, 4)))), int(rng.choice([1, 8])))
        X[rng.integers(n, size=n // 4)] = X[rng.integers(n, size=n // 4)]
        self.K = kernels.matrix(kernel, X, **KERNELS[kernel])
        self.y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n) + 1e-9)
        self.y[:2] = [1, -1]
        self.value = np.round(np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n), 1)
        self.C, self.nu = 10 ** rng.uniform(-2, 4), rng.uniform(0.05, 0.95)
        self.epsilon = float(rng.choice([0.0, 0.1, 0.5]))
        self.weight = np.zeros(n)

    def dual(self, weight: np.ndarray) -> duals.Dual:
        make: dict[str, Callable[[], duals.Dual]] = {
            "c_svc": lambda: formulations.c_svc(self.y, self.C * weight),
            "eps_svr": lambda: formulations.eps_svr(self.value, self.C * weight, self.epsilon),
            "nu_svr": lambda: formulations.nu_svr(self.value, self.C, self.nu, weight),
            "one_class": lambda: formulations.one_class(self.n, self.nu, weight),
            "nu_svc": lambda: formulations.nu_svc(self.y, self.nu, weight),
        }
        return make[self.model]()

    def block(self, I: np.ndarray, J: np.ndarray | None) -> np.ndarray:
        return self.K[I] if J is None else self.K[np.ix_(I, J)]

    def scan(self, J: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return self.K[:, J] @ coef

    def path(self, beta: np.ndarray | None = None) -> Path:
        dual = self.dual(self.weight)
        beta = dual.feasible_point() if beta is None else beta
        return Path(self, np.diag(self.K).copy(), dual, beta)

    def ends(self, weight: np.ndarray) -> Ends:
        dual = self.dual(weight)
        flat = [np.ascontiguousarray(a.T).ravel() for a in (dual.target, dual.lower, dual.upper)]
        return Ends(*flat, dual.total)

    def check(self, path: Path) -> None:
        """KKT conditions by the reference, sums, boxes and the engine's own scores."""
        dual, beta = self.dual(self.weight), path.layered(path.beta)
        reference = in_reference_terms(dual)
        scale = max(1.0, np.abs(self.value).max())
        assert kkt.kkt_violation(self.K, reference, beta) <= 1e-8 * scale
        assert kkt.feasibility(reference, beta) <= TOL.feasibility
        assert (beta >= dual.lower).all()
        assert (beta <= dual.upper).all()
        np.testing.assert_allclose(path.score, self.K @ beta.sum(axis=0), rtol=0, atol=1e-9 * scale)

    def next(self) -> np.ndarray | None:
        """Weights after some rows have come, gone or changed."""
        rng, weight = self.rng, self.weight.copy()
        come = rng.random() < 0.65
        able = np.flatnonzero((weight == 0) == come)
        if len(able) == 0:
            return None
        count = 1 if rng.random() < 0.8 else int(rng.integers(1, 6))
        chosen = rng.choice(able, min(count, len(able)), replace=False)
        weight[chosen] = rng.choice([0.5, 1.0, 1.0, 2.0]) if come else 0.0
        try:
            self.dual(weight)
        except ValueError:  # nu is infeasible
            return None
        return weight


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", MODELS)
def test_the_optimum_is_exact_after_every_change(model, kernel, seed):
    """Rows come and go, one by one and some at a time: repeated, contradictory, of low rank."""
    world = World(model, kernel, seed)
    path = world.path()
    for _ in range(40):
        weight = world.next()
        if weight is None:
            continue
        path.follow(world.ends(weight))
        world.weight = weight
        world.check(path)


def test_rounding_of_what_bounds_carried_does_not_turn_in_circles():
    """Three rows come that nobody else opposes; what they would move adds up to nothing."""
    world = World("c_svc", "rbf", 108)
    path = world.path()
    for weight in filter(np.any, (world.next() for _ in range(10))):
        path.follow(world.ends(weight))
        world.weight = weight
        world.check(path)
    assert path.counts.steps < 100


def test_a_circle_is_left_with_an_error(monkeypatch):
    world = World("eps_svr", "rbf", 3)
    path = world.path()
    monkeypatch.setattr(walk.Walk, "step", lambda self: setattr(self, "_zero", self._zero + 1))
    with pytest.raises(RuntimeError, match=r"turns in a circle.*scale"):
        path.follow(world.ends(np.ones(world.n)))


@pytest.mark.parametrize("seed", [21, 23, 34, 36])
@pytest.mark.parametrize("model", MODELS)
def test_the_way_may_be_long(model, seed):
    """From a far point, along which rates are huge: nobody jumps over a box."""
    world = World(model, "rbf", seed, n=60)
    world.C, world.nu, world.weight[:50] = 10.0, 0.3, 1.0
    world.check(world.path())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", MODELS)
def test_from_any_feasible_point_to_the_optimum(model, kernel, rng):
    world = World(model, kernel, 5)
    world.weight = np.ones(world.n)
    world.nu = min(world.nu, 0.3)
    point = world.dual(world.weight).feasible_point()
    exact = world.path(point)
    world.check(exact)
    dual = world.dual(world.weight)
    near = dual.nearest(exact.layered(exact.beta) + 1e-4 * world.C * rng.normal(size=point.shape))
    again = world.path(near)
    world.check(again)
    np.testing.assert_allclose(
        again.score, exact.score, atol=1e-7 * max(10.0, np.abs(exact.beta).sum())
    )


@pytest.mark.parametrize("model", MODELS)
def test_a_detour_leads_back(model):
    """Out and back again restores every decision value."""
    world = World(model, "rbf", 11)
    world.weight, world.nu = np.ones(world.n), min(world.nu, 0.3)
    path = world.path()
    before = path.score.copy()
    for row in range(world.n):
        weight = world.weight.copy()
        weight[row] = 0.0
        other = path.clone()
        other.follow(world.ends(weight))
        other.follow(world.ends(world.weight))
        np.testing.assert_allclose(other.score, before, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(path.score, before)


def test_rows_are_dropped_and_others_take_their_places(rng):
    world = World("eps_svr", "rbf", 3)
    world.weight = np.ones(world.n)
    path = world.path()
    weight = np.where(np.isin(np.arange(world.n), [0, 7, world.n - 1]), 0.0, 1.0)
    path.follow(world.ends(weight))
    order = path.drop(np.array([0, 7, world.n - 1]))
    np.testing.assert_array_equal(order, closed(world.n, np.array([0, 7, world.n - 1])))
    assert sorted(order.tolist()) == np.flatnonzero(weight).tolist()
    world.K, world.value, world.n = world.K[np.ix_(order, order)], world.value[order], len(order)
    world.weight = np.ones(world.n)
    world.check(path)
    weight = world.weight.copy()
    weight[::2] = 3.0
    path.follow(world.ends(weight))
    world.weight = weight
    world.check(path)


def test_rows_are_appended(rng):
    world = World("nu_svr", "rbf", 4, n=30)
    world.weight = np.ones(30)
    whole, n = (world.K, world.value), 20
    world.K, world.value, world.n, world.weight = whole[0][:n, :n], whole[1][:n], n, np.ones(n)
    path = world.path()
    for end in (21, 25, 30):
        start = len(world.value)
        world.K, world.value, world.n = whole[0][:end, :end], whole[1][:end], end
        world.weight = np.ones(end)
        dual = world.dual(world.weight)
        new = slice(start, end)
        path.extend(dual.target[:, new], dual.group[:, new], np.diag(world.K)[new].copy())
        path.follow(world.ends(world.weight))
        world.check(path)


def test_says_where_there_is_no_solution():
    world = World("one_class", "rbf", 1)
    world.weight = np.ones(world.n)
    path = world.path()
    with pytest.raises(NoSolution, match="group 0") as caught:
        path.follow(Ends(total=path.total * (1.5 / world.nu)))
    assert 0 <= caught.value.theta < 1


def test_ties_are_pulled_apart_and_put_back(monkeypatch):
    """With no patience for steps of length zero the second path must do."""
    monkeypatch.setattr(walk, "_TANGLED", 2)
    pulled = 0
    for seed in range(6):
        world = World("nu_svc", "linear", seed)
        path = world.path()
        for _ in range(30):
            weight = world.next()
            if weight is None:
                continue
            path.follow(world.ends(weight))
            world.weight = weight
            world.check(path)
        pulled += path.counts.untangled
    assert pulled > 0


def test_targets_may_have_to_be_put_right_many_times(monkeypatch):
    """More often than functions may call each other."""
    world = World("c_svc", "rbf", 0)
    world.weight, ends, walks = np.ones(world.n), walk.Walk.end, []

    def end(self) -> None:
        ends(self)
        walks.append(self)
        if len(walks) < 2 * sys.getrecursionlimit():
            self.apart = np.zeros_like(self.goal)

    path = world.path()
    monkeypatch.setattr(walk.Walk, "end", end)
    path.follow(world.ends(2.0 * world.weight))
    assert len(walks) == 2 * sys.getrecursionlimit()
    world.weight = 2.0 * world.weight
    world.check(path)
