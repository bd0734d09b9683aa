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
from widestreet._src.tuning.shared_fit import NotEvaluatedError, Results, SharedFit


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


def test_a_fit_on_all_rows_is_a_fit(results):
    found = SharedFit(results).set_params(C=3.0).fit(results.numbers, results.plan.y)
    assert type(found.model) is ws.SVC
    assert found.model.C == 3.0
    assert found.certificate_.status == "optimal"


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
