"""A problem begins at the nearest feasible point, with the rows that are free there."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kkt
from reference.duals import MODELS
from support.fitting import in_reference_terms
from support.model_duals import build, labels
from support.problems import random_feasible
from widestreet._src.training.problem import Problem


@pytest.mark.parametrize("model", MODELS)
def test_a_feasible_start_is_kept_and_its_free_rows_come_first(model, rng):
    dual = build(model, labels(rng, model, 30), np.ones(30))
    beta = random_feasible(in_reference_terms(dual), rng)
    begun = Problem(dual).starting_at(beta)
    np.testing.assert_allclose(begun.start, beta, atol=TOL.twin)
    free = ((begun.start > dual.lower) & (begun.start < dual.upper)).any(axis=0)
    np.testing.assert_array_equal(begun.first, np.flatnonzero(free))


@pytest.mark.parametrize("model", MODELS)
def test_any_start_becomes_feasible(model, rng):
    dual = build(model, labels(rng, model, 30), np.ones(30))
    begun = Problem(dual).starting_at(10.0 * rng.normal(size=dual.target.shape))
    assert kkt.feasibility(in_reference_terms(dual), begun.start) <= TOL.feasibility
    assert begun.dual is dual
