"""The exact optimum of a dual whose data change: rows, weights and parameters."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from support.path_problems import KERNELS, MODELS, ChangingProblem
from widestreet._src.engines.homotopy.parametric_optimum import order_after_removal

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", MODELS)
def test_the_optimum_is_exact_after_every_change(model, kernel, seed):
    """Rows are added and removed, one or several at a time: repeated, contradictory, low rank."""
    problem = ChangingProblem(model, kernel, seed)
    optimum = problem.optimum()
    for _ in problem.history(optimum, 40):
        problem.check(optimum)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", MODELS)
def test_the_optimum_is_exact_after_boxes_were_tightened(model, kernel):
    problem = ChangingProblem(model, kernel, 1)
    optimum = problem.optimum()
    for _ in range(40):
        weight = problem.next()
        if weight is not None:
            optimum.tighten(problem.end(weight))
            problem.change(optimum, weight)
            problem.check(optimum)


@pytest.mark.parametrize("model", MODELS)
def test_tightening_keeps_the_optimum(model):
    """Only boxes that are empty at the endpoint shrink; their variables are at a bound then."""
    problem = ChangingProblem(model, "rbf", 11)
    problem.weight, problem.nu = np.ones(problem.n), min(problem.nu, 0.3)
    optimum = problem.optimum()
    before, box = optimum.beta.copy(), problem.end(problem.weight)
    weight = problem.weight.copy()
    weight[::3] = 0.0
    optimum.tighten(problem.end(weight))
    state = optimum.state
    np.testing.assert_array_equal(state.beta, before)
    shrunk = np.repeat(weight == 0, state.layers)
    np.testing.assert_array_equal(state.lower, np.where(shrunk, np.minimum(0, before), box.lower))
    np.testing.assert_array_equal(state.upper, np.where(shrunk, np.maximum(0, before), box.upper))
    assert not shrunk[optimum.free.variables].any()


@pytest.mark.parametrize("seed", [21, 23, 34, 36])
@pytest.mark.parametrize("model", MODELS)
def test_the_first_point_may_be_far_from_the_optimum(model, seed):
    """Rates are huge on the way; no variable may jump over its box."""
    problem = ChangingProblem(model, "rbf", seed, n=60)
    problem.C, problem.nu, problem.weight[:50] = 10.0, 0.3, 1.0
    problem.check(problem.optimum())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", MODELS)
def test_from_any_feasible_point_to_the_optimum(model, kernel, rng):
    problem = ChangingProblem(model, kernel, 5)
    problem.weight = np.ones(problem.n)
    problem.nu = min(problem.nu, 0.3)
    dual = problem.dual(problem.weight)
    exact = problem.optimum(dual.feasible_point())
    problem.check(exact)
    noise = 1e-4 * problem.C * rng.normal(size=dual.target.shape)
    again = problem.optimum(dual.nearest(exact.layered(exact.beta) + noise))
    problem.check(again)
    np.testing.assert_allclose(
        again.score, exact.score, atol=1e-7 * max(10.0, np.abs(exact.beta).sum())
    )


@pytest.mark.parametrize("model", MODELS)
def test_removing_and_adding_a_row_restores_every_score(model):
    problem = ChangingProblem(model, "rbf", 11)
    problem.weight, problem.nu = np.ones(problem.n), min(problem.nu, 0.3)
    optimum = problem.optimum()
    before = optimum.score.copy()
    for row in range(problem.n):
        weight = problem.weight.copy()
        weight[row] = 0.0
        clone = optimum.clone()
        clone.follow(problem.end(weight))
        clone.follow(problem.end(problem.weight))
        np.testing.assert_allclose(clone.score, before, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(optimum.score, before)


def test_a_clone_takes_kernel_values_where_it_is_told():
    problem, other = (ChangingProblem("c_svc", "rbf", 3) for _ in range(2))
    problem.weight = np.ones(problem.n)
    optimum = problem.optimum()
    clone = optimum.clone(other)
    problem.block = problem.scan = None  # any use of them fails
    problem.change(clone, 2.0 * problem.weight)
    problem.check(clone)


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_copies_continue_by_themselves(how):
    problem = ChangingProblem("eps_svr", "rbf", 3)
    problem.weight = np.ones(problem.n)
    optimum = problem.optimum()
    other = pickle.loads(pickle.dumps(optimum)) if how == "pickle" else copy.deepcopy(optimum)
    weight = np.where(np.arange(problem.n) % 3, 2.0, 0.0)
    other.follow(problem.end(weight))
    problem.check(optimum)  # where it was
    problem.change(optimum, weight)
    problem.check(optimum)
    problem.check(other)


def test_rows_are_dropped_and_the_last_ones_take_their_places():
    problem = ChangingProblem("eps_svr", "rbf", 3)
    problem.weight = np.ones(problem.n)
    optimum = problem.optimum()
    gone = np.array([0, 7, problem.n - 1])
    weight = np.where(np.isin(np.arange(problem.n), gone), 0.0, 1.0)
    optimum.follow(problem.end(weight))
    order = optimum.drop(gone)
    np.testing.assert_array_equal(order, order_after_removal(problem.n, gone))
    assert sorted(order.tolist()) == np.flatnonzero(weight).tolist()
    problem.K, problem.value = problem.K[np.ix_(order, order)], problem.value[order]
    problem.n, problem.weight = len(order), np.ones(len(order))
    problem.check(optimum)
    weight = problem.weight.copy()
    weight[::2] = 3.0
    problem.change(optimum, weight)
    problem.check(optimum)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_rows_are_appended(scale):
    """Also rows whose kernel values have another size than those of the rows before."""
    problem = ChangingProblem("nu_svr", "rbf", 4, n=30)
    size = np.where(np.arange(30) < 20, 1.0, np.sqrt(scale))
    K, value, n = problem.K * np.outer(size, size), problem.value, 20
    problem.K, problem.value, problem.n = K[:n, :n], value[:n], n
    problem.weight = np.ones(n)
    optimum = problem.optimum()
    for end in (21, 25, 30):
        new = slice(problem.n, end)
        problem.K, problem.value, problem.n = K[:end, :end], value[:end], end
        problem.weight = np.ones(end)
        dual = problem.dual(problem.weight)
        optimum.extend(dual.target[:, new], dual.group[:, new], np.diag(problem.K)[new].copy())
        optimum.follow(problem.end(problem.weight))
        problem.check(optimum)
    assert (optimum.free.sigma == 1.0) == (scale == 1.0)


def test_kernel_values_come_from_the_kernel_alone():
    """A diagonal added inside the kernel is part of the problem: every score contains it."""
    problem = ChangingProblem("c_svc", "rbf", 7)
    problem.K = problem.K + np.diag(np.linspace(0.5, 2.0, problem.n))
    optimum = problem.optimum()
    for _ in problem.history(optimum, 25):
        problem.check(optimum)
