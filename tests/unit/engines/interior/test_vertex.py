"""Vertices: free variables on the grid of float64 numbers, where a spacing exceeds a tolerance."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest

from conftest import TOL
from reference import kkt
from support.fitting import in_reference_terms
from support.low_rank import EVERY, SQUARED, engine, factor, problem
from support.settings import settings
from widestreet._src.certificate import examine
from widestreet._src.engines.interior import vertex
from widestreet._src.engines.interior.crossover import crossed_over
from widestreet._src.engines.interior.vertex import polished
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Linear, Poly
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.formulations import c_svc
from widestreet._src.rows import as_rows
from widestreet._src.training.monomial_rows import monomial_rows

pytestmark = pytest.mark.numeric


def crossed(gram: Gram, dual: Dual):
    found = engine(gram, dual)
    found.solve()
    return crossed_over(dual, found.best, found.factor)[0], found.factor


def violation(gram: Gram, dual: Dual, beta) -> float:
    return vertex._violation(dual, beta, dual.indicator(vertex._scores(gram, beta)))


def coarse() -> tuple[Gram, Dual]:
    """Monomials of a cubic kernel, whose values are so large that one spacing exceeds 1e-3."""
    rng = np.random.default_rng(0)
    X = 300.0 * rng.standard_normal((300, 1))
    y = np.where(X[:, 0] + 500.0 * rng.standard_normal(300) > 0, 1.0, -1.0)
    dual = c_svc(y, 500.0)
    found = monomial_rows(Poly(0.2, 1.0, 3), as_rows(X), dual, settings())
    assert found is not None
    return Gram(Linear(), found.rows), dual


@pytest.mark.parametrize("model", EVERY)
def test_variables_at_bounds_stay_and_sums_are_kept(model):
    gram, dual = problem(model, "linear", 8)
    beta, V = crossed(gram, dual)
    found = polished(gram, dual, V, beta, 0.0)
    assert kkt.feasibility(in_reference_terms(dual), found) <= TOL.feasibility
    fixed = (beta == dual.lower) | (beta == dual.upper)
    np.testing.assert_array_equal(found[fixed], beta[fixed])
    if model not in SQUARED:
        assert violation(gram, dual, found) <= max(violation(gram, dual, beta), TOL.violation)
    else:
        assert found is beta


def test_coarse_coefficients_have_small_violations():
    gram, dual = coarse()
    beta, V = crossed(gram, dual)
    free = (beta > dual.lower) & (beta < dual.upper)
    one = np.spacing(np.abs(beta[free]).max()) * float(gram.diag().max())
    found = polished(gram, dual, V, beta, 0.0)
    assert one > 1e-3
    assert violation(gram, dual, found) < 0.01 * one
    assert fsum(found[0].tolist()) == 0.0


def test_the_lattice_is_reduced_only_if_necessary(monkeypatch):
    gram, dual = coarse()
    beta, V = crossed(gram, dual)
    with monkeypatch.context() as patch:
        patch.setattr(vertex, "_MOST_REDUCED", 0)
        sorted_only = violation(gram, dual, polished(gram, dual, V, beta, 0.0))
    assert violation(gram, dual, polished(gram, dual, V, beta, 0.0)) < sorted_only
    enough = 1.5 * sorted_only
    assert violation(gram, dual, polished(gram, dual, V, beta, enough)) == sorted_only
    assert polished(gram, dual, V, beta, np.inf) is beta


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("model", ["c_svc", "eps_svr"])
def test_no_row_has_a_loss_if_none_needs_one(model, plain, monkeypatch):
    """With a huge C the rounding errors of free rows would be losses far above the objective."""
    if plain:
        monkeypatch.setattr(vertex, "_MOST_LATTICE", 0.0)
    gram, dual = problem(model, "rbf", 3, n=25, d=5, C=1e15)
    beta, V = crossed(gram, dual)
    found = polished(gram, dual, V, beta, 1e-3)
    examined = examine(gram, dual, found)
    assert examined.violation <= 1e-3
    assert examined.gap <= 1e-3 * examined.primal


@pytest.mark.parametrize("limit", ["_MOST_COST", "_MOST_VALUES"])
def test_large_problems_are_left_as_they_are(limit, monkeypatch):
    gram, dual = problem("c_svc", "linear", 8)
    beta, V = crossed(gram, dual)
    monkeypatch.setattr(vertex, limit, 1.0)
    assert polished(gram, dual, V, beta, 0.0) is beta


def test_points_without_free_variables_are_left_as_they_are():
    gram, dual = problem("c_svc", "linear", 8)
    beta = np.zeros((1, dual.rows))
    assert polished(gram, dual, factor(gram, dual), beta, 0.0) is beta
