"""Crossover: feasible points with variables at their bounds, and sums without rounding."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest

from conftest import TOL
from reference import kkt
from support.fitting import in_reference_terms
from support.low_rank import EVERY, engine, problem
from widestreet._src.engines.interior.crossover import crossed_over
from widestreet._src.engines.interior.iterate import first_iterate

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("model", EVERY)
def test_points_are_feasible_at_the_start_and_at_the_end(model):
    gram, dual = problem(model, "linear", 8)
    found = engine(gram, dual)
    for at in (first_iterate(found.factor, dual), None):
        if at is None:
            found.solve()
            at = found.best
        beta, first = crossed_over(dual, at, found.factor)
        assert kkt.feasibility(in_reference_terms(dual), beta) <= TOL.feasibility
    inside = ((beta > dual.lower) & (beta < dual.upper)).any(axis=0)
    assert np.isin(np.flatnonzero(inside), first).all()


def test_few_variables_are_free_at_the_optimum():
    gram, dual = problem("c_svc", "linear", 8, n=200, d=3)
    found = engine(gram, dual)
    found.solve()
    beta, first = crossed_over(dual, found.best, found.factor)
    assert len(first) <= 4  # the rank and the sum
    assert np.isin(beta[0], [*dual.lower[0], *dual.upper[0]]).sum() >= 196


@pytest.mark.parametrize("C", [1.0, 1e10])
def test_sums_and_scores_have_no_rounding_errors(C):
    gram, dual = problem("c_svc", "linear", 9, n=100, C=C)
    found = engine(gram, dual)
    found.solve()
    beta, first = crossed_over(dual, found.best, found.factor)
    assert abs(fsum(beta[0].tolist())) <= np.spacing(np.abs(beta[0, first]).min())
    score = gram.scan(None, np.arange(100), beta[0])
    F = (dual.target[0] - score)[first]
    assert np.ptp(F) <= TOL.twin * max(1.0, C)
