"""Many duals in one call of the core: the figures that each of them has alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference.duals import MODELS
from support.rows_in_parts import POINTS, point, problem, size
from widestreet._src.certificate import examine, examine_all, scores

pytestmark = pytest.mark.numeric

EPS = np.finfo(np.float64).eps


@pytest.mark.parametrize("model", MODELS)
@given(
    seed=st.integers(0, 2**32 - 1),
    weighted=st.booleans(),
    kinds=st.lists(st.sampled_from(POINTS), min_size=1, max_size=4),
)
def test_figures_are_those_of_each_dual_alone(model, seed, weighted, kinds):
    """Only the order of sums differs."""
    rng = np.random.default_rng(seed)
    gram, dual = problem(model, rng, weighted=weighted, diagonal=False)
    betas = [point(dual, kind, rng) for kind in kinds]
    every = [scores(gram, beta) for beta in betas]
    found = examine_all(gram, [dual] * len(kinds), betas, every)
    for core, beta, score in zip(found, betas, every, strict=True):
        one = examine(gram, dual, beta, score=score)
        slack = TOL.figures * EPS * size(dual, beta, score)
        assert one.violation == core.violation
        assert (one.rows, one.mass, one.convex) == (core.rows, core.mass, core.convex)
        assert one.primal == pytest.approx(core.primal, abs=slack)
        assert one.dual == pytest.approx(core.dual, abs=slack)
        assert one.infeasibility == pytest.approx(core.infeasibility, rel=TOL.exact, abs=EPS)
        assert one.rounding == pytest.approx(core.rounding, rel=TOL.exact)
        np.testing.assert_allclose(one.bias, core.bias, rtol=TOL.exact, atol=TOL.exact)
