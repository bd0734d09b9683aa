"""Stages of a search: results of all points, as one table."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from support.machines import data
from widestreet._src.engines.budget import Budget
from widestreet._src.tuning.ranges import Ranges
from widestreet._src.tuning.stages import SearchTask, Stages, plain_results, results_from
from widestreet._src.tuning.tasks import SearchData
from widestreet.model_selection import GridSearchCV


@pytest.fixture
def task():
    X, y = data("svc")
    folds = [(np.arange(len(y)) % 3 != k, np.arange(len(y)) % 3 == k) for k in range(3)]
    splits = [(np.flatnonzero(train), np.flatnonzero(test)) for train, test in folds]
    known = SearchData.of(ws.SVC(), X, y, None)
    return SearchTask(ws.SVC(), known, splits, False, None, Budget(), False)


def test_points_are_evaluated_once_and_ranked_together(task):
    ranges = Ranges(("C", "gamma"), [(0.1, 1.0), (0.5,)])
    search = Stages(task)
    search.evaluate(ranges, [(0.1, 0.5), (1.0, 0.5)])
    search.evaluate(ranges, [(1.0, 0.5), (10.0, 0.5)])
    assert search.points == [(0.1, 0.5), (1.0, 0.5), (10.0, 0.5)]
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.5]}
    whole = GridSearchCV(ws.SVC(), grid, cv=task.splits).fit(task.data.X, task.data.y)
    for name in ("rank_test_score", "mean_test_score", "split2_test_score", "params"):
        np.testing.assert_array_equal(search.results[name], whole.cv_results_[name])
    assert search.best_score == whole.best_score_
    assert search.scores.shape == (3, 3)


def test_a_search_without_time_keeps_the_points_before(task):
    ranges = Ranges(("C", "gamma"), [(0.1, 1.0), (0.5,)])
    search = Stages(task)
    search.evaluate(ranges, [(0.1, 0.5)])
    task.budget.max_time = 0.0
    search.evaluate(ranges, [(1.0, 0.5)])
    assert search.stopped == "max_time"
    assert search.points == [(0.1, 0.5)]


def test_results_come_back_from_plain_values(task):
    search = Stages(task)
    search.evaluate(Ranges(("C", "gamma"), [(1.0,), (0.5,)]), [(1.0, 0.5), (2.0, 0.5)])
    again = results_from(plain_results(search.results))
    assert again.keys() == search.results.keys()
    for name, values in search.results.items():
        np.testing.assert_array_equal(again[name], values)
        assert type(again[name]) is type(values)
