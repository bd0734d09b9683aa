"""The gap as a sum over rows, and its bound if scores are known up to an error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference.duals import MODELS
from support.fitting import build_dual, in_reference_terms
from support.problems import random_feasible
from widestreet._src.certificate import examine, excess_of, gap_terms, scores
from widestreet._src.certificate.gap_terms import largest_gap_terms
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.formulations import CSVC
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric


def problem(model, rng, n=80):
    X = rng.normal(size=(n, 3))
    y = rng.normal(size=n) + X[:, 0]
    dual = build_dual(model, np.sign(y) if model.endswith("svc") else y, C=3.0)
    return Gram(RBF(0.5), as_rows(X)), dual, random_feasible(in_reference_terms(dual), rng)


@pytest.mark.parametrize("model", MODELS)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_terms_of_all_rows_add_up_to_the_gap(model, seed):
    gram, dual, beta = problem(model, np.random.default_rng(seed))
    found = examine(gram, dual, beta)
    terms = gap_terms(
        dual, beta, excess_of(dual, beta, scores(gram, beta), found.bias[dual.group]).high
    )
    size = max(1.0, abs(found.primal), abs(found.dual))
    assert (terms >= -TOL.twin * size).all()
    assert terms.sum() == pytest.approx(found.primal - found.dual, abs=TOL.twin * size)


def test_the_terms_of_a_squared_hinge_add_up_to_the_gap(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    dual = CSVC(2.0, loss="squared").dual(y, np.full(60, 2.0))
    assert dual.diagonal is not None
    gram = Gram(RBF(0.5), as_rows(X)).select(None, diagonal=dual.diagonal)
    beta = dual.nearest(np.where(y > 0, 1.0, -1.0)[None] * rng.random(60))
    found = examine(gram, dual, beta)
    terms = gap_terms(
        dual, beta, excess_of(dual, beta, scores(gram, beta), found.bias[dual.group]).high
    )
    assert (terms >= -TOL.twin).all()
    assert terms.sum() == pytest.approx(found.primal - found.dual, rel=TOL.twin)


@pytest.mark.parametrize("model", MODELS)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_scores_within_the_errors_have_larger_terms(model, seed):
    rng = np.random.default_rng(seed)
    gram, dual, beta = problem(model, rng)
    found, score = examine(gram, dual, beta), scores(gram, beta)
    error, bias = rng.random(dual.rows) * 10.0 ** rng.integers(-6, 1), found.bias[dual.group]
    largest = largest_gap_terms(dual, beta, score, error, bias)
    for _ in range(5):
        other = score + error * rng.uniform(-1, 1, size=dual.rows)
        assert (gap_terms(dual, beta, excess_of(dual, beta, other, bias).high) <= largest).all()


def test_a_goal_is_not_met_if_rounding_may_change_the_gap(rng):
    gram, dual, beta = problem("c_svc", rng)
    found = examine(gram, dual, beta)
    goal = Goal(2 * found.violation, 1.0)
    assert found.meets(goal)
    assert not found.limited_by_rounding(goal)
    wrong = found.inconsistent()
    assert not wrong.meets(goal)
    assert wrong.limited_by_rounding(goal)
    assert wrong.certificate("optimal", goal).status == "stalled"
