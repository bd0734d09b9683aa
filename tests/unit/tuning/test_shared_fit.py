"""Estimators whose fits look up models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor

import widestreet as ws
from support.cross_validation import folds_of
from support.machines import data
from widestreet._src.engines.budget import Budget
from widestreet._src.tuning.plan import Machine, Plan
from widestreet._src.tuning.shared_fit import (
    NotEvaluatedError,
    Results,
    SharedFit,
    fold_scores,
    scored,
)


@pytest.fixture
def results():
    X, y = data("svc")
    model = ws.SVC()
    splits, settings = folds_of(model, X, y), model._settings()
    candidates = [{"C": 1.0}, {"C": 10.0}]
    plan = Plan(Machine.of(model), X, y, None, candidates, splits, False, Budget(), settings)
    plan.run()
    return Results(plan, model, np.arange(len(y)))


def test_fits_are_those_of_the_candidates_in_order(results):
    for C in (1.0, 10.0):
        for train, test in results.plan.splits:
            found = clone(SharedFit(results)).set_params(C=C).fit(train)
            assert found.model.C == C
            expected = ws.SVC(C=C).fit(results.plan.X[train], results.plan.y[train])
            assert (found.predict(test) == expected.predict(results.plan.X[test])).mean() > 0.95


def test_a_fit_on_all_rows_is_left_to_the_search(results):
    found = SharedFit(results).set_params(C=3.0).fit(results.numbers, results.plan.y)
    assert found.model is None


def test_the_scores_are_those_of_scikit_learns_search(results):
    plan = results.plan
    options = {"scoring": "accuracy", "refit": True}
    found = scored(plan, ws.SVC(), options, {}, missing=False)
    scores = fold_scores(ws.SVC(), "accuracy", "score", {}, plan)
    assert scores.shape == (2, 3)
    np.testing.assert_array_equal(scores.mean(axis=1), found.cv_results_["mean_test_score"])
    assert found.best_index_ == np.argmax(scores.mean(axis=1))
    del plan.found[1, 0]
    scores = fold_scores(ws.SVC(), "accuracy", "score", {}, plan)
    assert np.isnan(scores).sum() == 1


def test_candidates_without_result(results):
    (train, _), error = results.plan.splits[0], ValueError("of this candidate")
    results.plan.found[0, 0] = error
    del results.plan.found[1, 0]
    with pytest.raises(ValueError, match="of this candidate"):
        SharedFit(results).fit(train)
    with pytest.raises(NotEvaluatedError):
        SharedFit(results).fit(train)


def test_it_is_what_the_estimator_is(results):
    assert is_classifier(SharedFit(results))
    assert not is_regressor(SharedFit(results))
    assert SharedFit(results).C == ws.SVC().C
