"""Models of solved tasks."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import OF_THREE, TOL
from support.fitting import decision
from support.machines import any_street, data, machine
from widestreet._src.engines.budget import Budget
from widestreet._src.tuning.search import Search
from widestreet._src.tuning.tasks import Fold, SearchData, Task

pytestmark = any_street
KINDS = ("svc", "nu_svc", "svr", "nu_svr", "one_class", "svc" + OF_THREE)


@pytest.fixture(params=KINDS)
def solved(request):
    """Rows, the outcome of one task, and the model with stored scores."""
    model, (X, y) = machine(request.param), data(request.param)
    search = SearchData.of(model, X, y, None)
    found = []
    tasks = [Task.of(model, Fold(search, np.arange(30, 120), np.arange(30)))]

    def report(task, outcome, rows, scores):
        found.append((outcome, rows, scores))

    Search(search, tasks, model._settings(), Budget(), report, every_row=True).run()
    [(outcome, rows, scores)] = found
    return X, y, outcome, outcome.held_out(rows, scores)


def test_stored_scores_predict_what_the_model_predicts(solved):
    X, _, outcome, stored = solved
    model = outcome.model()
    rows = np.array([5, 100, 7, 7, 0])
    np.testing.assert_allclose(decision(stored, rows), decision(model, X[rows]), atol=TOL.decision)


def test_score_and_classes(solved):
    X, y, outcome, stored = solved
    model, rows = outcome.model(), np.arange(30)
    if hasattr(model, "classes_"):
        assert stored.classes_.tolist() == model.classes_.tolist()
        assert (stored.predict(rows) == model.predict(X[rows])).all()
    if hasattr(model, "score"):
        expected = model.score(X[rows], y[rows])
        assert stored.score(rows, y[rows]) == pytest.approx(expected, abs=TOL.decision)


def test_the_estimator_of_the_task_is_not_fitted(solved):
    _, _, outcome, _ = solved
    assert not hasattr(outcome.task.estimator, "n_support_")
