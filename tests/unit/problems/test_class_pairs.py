"""Pairs of classes: their order, where their coefficients stand, and votes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.utils.multiclass import _ovr_decision_function

from conftest import TOL
from support.fitted_models import fitted
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.problems.class_pairs import PairLayout


@pytest.mark.parametrize("k", range(2, 8))
def test_pairs(k):
    assert PairLayout(k).pairs == [(i, j) for i in range(k) for j in range(i + 1, k)]


decisions = st.integers(3, 6).flatmap(
    lambda k: st.tuples(
        st.just(k),
        arrays(
            np.float64,
            st.tuples(st.integers(1, 8), st.just(k * (k - 1) // 2)),
            elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, -2.0])
            | st.floats(-1e3, 1e3),
        ),
    )
)


@given(decisions)
def test_one_vs_rest_is_that_of_scikit_learn(drawn):
    k, decision = drawn
    expected = _ovr_decision_function(decision < 0, -decision, k)
    found = PairLayout(k).one_vs_rest(decision)
    np.testing.assert_allclose(found, expected, rtol=TOL.exact, atol=TOL.exact)


@given(decisions)
def test_most_votes_is_a_count_of_votes(drawn):
    """As LIBSVM counts: zero is a vote for the second class, the first of equals wins."""
    k, decision = drawn
    for row, winner in zip(decision, PairLayout(k).most_votes(decision), strict=True):
        votes = [0] * k
        for p, (i, j) in enumerate(PairLayout(k).pairs):
            votes[i if row[p] > 0 else j] += 1
        assert winner == votes.index(max(votes))
    counted = PairLayout(k).votes(decision > 0)
    assert (counted.sum(axis=1) == k * (k - 1) // 2).all()


def test_a_circle_of_votes():
    """Rock, paper, scissors: one vote each; only the size of the decision values can tell."""
    decision = np.array([[1.0, -1.0, 3.0]])  # 0 beats 1, 2 beats 0, 1 beats 2 by far
    assert PairLayout(3).most_votes(decision).tolist() == [0]
    assert PairLayout(3).one_vs_rest(decision).argmax(axis=1).tolist() == [1]


def test_coefficients_of_pairs_give_the_decision_values_of_pairs():
    model, _, _, new = fitted("svc of three/linear/dense")
    coef = model._layout.coefficients(dense_coef(model.dual_coef_), model.n_support_)
    assert coef.shape == (3, len(model.support_))
    found = new @ model.support_vectors_.T @ coef.T + model.intercept_
    np.testing.assert_allclose(found, model.decision_function(new), atol=TOL.decision)


def test_a_model_of_one_problem_has_one_line_of_coefficients():
    for name in ("svr/rbf/dense", "svc/rbf/dense"):
        model = fitted(name).model
        assert model._layout.coefficients(model.dual_coef_, model.n_support_) is model.dual_coef_
