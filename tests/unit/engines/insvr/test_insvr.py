"""Incremental nu-SVR: every added sample ends at the optimum."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest

from conftest import TOL
from support.insvr_problems import (
    arrivals,
    assert_optimal,
    decision,
    every_case,
    every_kernel,
    every_scaling,
    problem,
    programme,
    trained,
)
from widestreet._src.engines.insvr.insvr import Insvr


@every_case
def test_every_sample_ends_at_the_optimum(scaling, kernel, nu, C):
    """By an independent look at the conditions; and the inverses are ones after every change."""
    K, y = problem(kernel, 25)
    machine = Insvr(C, nu, scaling, debug=True)
    total = Counter()
    for l in arrivals(machine, K, y):
        assert_optimal(machine, K, y[:l])
        total.update(asdict(machine.last))
        if l > 1:
            assert (machine.last.ia >= 1) == (scaling == "schoelkopf")
            assert machine.last.raia + machine.last.sra >= 1  # the sum asked for has grown
    assert machine.inverse_error <= TOL.inverse
    assert asdict(machine.counts) == dict(total)


@every_case
def test_decision_values_are_those_of_the_quadratic_programme(scaling, kernel, nu, C):
    K, y = problem(kernel, 9, seed=1)
    machine = Insvr(C, nu, scaling)
    for l in arrivals(machine, K, y):
        expected, _ = programme(K[:l, :l], y[:l], scaling, nu, C)
        scale = max(1.0, np.abs(y).max())
        np.testing.assert_allclose(
            decision(machine, K), expected, atol=TOL.decision * scale, rtol=0
        )


@every_scaling
@every_kernel
@pytest.mark.parametrize("nu", [0.3, 0.9])
def test_the_order_of_arrival_does_not_matter(scaling, kernel, nu, rng):
    K, y = problem(kernel, 20, seed=2)
    first = trained(K, y, 10.0, nu, scaling)
    order = rng.permutation(len(y))
    again = trained(K[np.ix_(order, order)], y[order], 10.0, nu, scaling)
    there = decision(again, K[np.ix_(order, order)])
    np.testing.assert_allclose(there, decision(first, K)[order], atol=TOL.decision, rtol=0)
    assert again.tube == pytest.approx(first.tube, abs=TOL.decision)


@every_kernel
def test_the_two_scalings_are_one_problem(kernel):
    """C of the paper is l times LIBSVM's."""
    K, y = problem(kernel, 20, seed=3)
    paper, libsvm = trained(K, y, 20.0, 0.4), trained(K, y, 1.0, 0.4, "libsvm")
    np.testing.assert_allclose(decision(paper, K), decision(libsvm, K), atol=TOL.decision, rtol=0)
    assert paper.tube == pytest.approx(libsvm.tube, abs=TOL.decision)


@every_scaling
@every_kernel
def test_epsilon_changes_neither_the_solution_nor_the_path(scaling, kernel):
    K, y = problem(kernel, 20, seed=4)
    machines = [trained(K, y, 10.0, 0.3, scaling, epsilon) for epsilon in (-1.0, -1e-2, -1e2)]
    for machine in machines[1:]:
        assert machine.counts == machines[0].counts
        np.testing.assert_allclose(machine.alpha, machines[0].alpha, atol=TOL.decision, rtol=0)


@every_scaling
@pytest.mark.parametrize("nu", [0.2, 0.5, 0.8, 1.0])
def test_nu_bounds_the_fractions(scaling, nu):
    """At most nu of the samples are outside the tube, at least nu on its edge or outside."""
    K, y = problem("rbf", 40, seed=5)
    machine = trained(K, y, 5.0, nu, scaling)
    miss = np.abs(decision(machine, K) - y)
    assert np.mean(miss > machine.tube + TOL.decision) <= nu
    assert np.mean((machine.alpha > 0).any(axis=0)) >= nu
    assert_optimal(machine, K, y)


@every_scaling
def test_a_line_is_found_exactly(scaling):
    X = np.linspace(-1, 1, 9)
    machine = trained(np.outer(X, X), 3 * X + 2, 100.0, 0.5, scaling)
    assert machine.tube == pytest.approx(0, abs=TOL.insvr_tube)
    assert machine.bias == pytest.approx(2, abs=TOL.decision)
    assert X @ machine.coef == pytest.approx(3, abs=TOL.decision)


def test_one_sample_is_met_exactly():
    machine = Insvr(2.0, 0.5)
    machine.add(np.zeros(0), 1.0, 7.0)
    assert (machine.bias, machine.tube) == (7.0, 0.0)
    np.testing.assert_array_equal(machine.alpha, [[0.5], [0.5]])
    np.testing.assert_array_equal(machine.g, np.zeros((2, 1)))


@every_scaling
def test_the_gradient_is_that_of_what_is_reported(scaling):
    K, y = problem("rbf", 20, seed=6)
    machine = trained(K, y, 1.0, 0.6, scaling)
    f = decision(machine, K) - y
    np.testing.assert_allclose(machine.g, np.stack([f, -f]) + machine.tube, atol=TOL.twin, rtol=0)


# -- beginning from several samples ----------------------------------------------------------------


@every_scaling
@every_kernel
@pytest.mark.parametrize("nu", [0.1, 0.6])
def test_beginning_from_an_optimum(scaling, kernel, nu):
    """Also from an interior one, in which dependent variables are all free."""
    K, y = problem(kernel, 20, seed=11)
    _, alpha = programme(K[:15, :15], y[:15], scaling, nu, 10.0)
    machine = Insvr(10.0, nu, scaling)
    machine.load(K[:15, :15], y[:15], alpha)
    assert_optimal(machine, K, y[:15])
    for l in range(15, 20):
        machine.add(K[:l, l], K[l, l], y[l])
        assert_optimal(machine, K, y[: l + 1])
    other = trained(K, y, 10.0, nu, scaling)
    np.testing.assert_allclose(decision(machine, K), decision(other, K), atol=TOL.decision, rtol=0)


def test_what_is_not_an_optimum_is_refused():
    K, y = problem("rbf", 10)
    machine = Insvr(10.0, 0.5)
    with pytest.raises(ValueError, match="alpha is not an optimum: it violates the conditions by"):
        machine.load(K, y, np.full((2, 10), 2.5))


def test_loading_forgets_what_there_was():
    K, y = problem("rbf", 10)
    machine = trained(K, y, 1.0, 0.5)
    machine.load(K[:4, :4], y[:4])
    fresh = trained(K[:4, :4], y[:4], 1.0, 0.5)
    np.testing.assert_array_equal(machine.alpha, fresh.alpha)
    assert machine.counts == fresh.counts
    machine.load(np.zeros((0, 0)), np.zeros(0))
    assert (len(machine.coef), machine.bias, machine.tube) == (0, 0.0, 0.0)
