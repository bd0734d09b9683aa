"""Surveys: what is asked for, and how answers are put together."""

from __future__ import annotations

import numpy as np

from widestreet._src.shards.survey_order import Survey, SurveyOrder


def test_nothing_is_skipped_unless_it_may_be():
    bounds = np.array([np.inf, 4.0, 0.0])
    assert SurveyOrder(1, 0.1).drift(bounds).tolist() == [np.inf, 4.0, 0.0]
    assert SurveyOrder(1, 0.1, caution=0.5).drift(bounds).tolist() == [np.inf, 2.0, 0.0]
    assert SurveyOrder(1, 0.1, caution=0.0).drift(bounds).tolist() == [np.inf, 0.0, 0.0]
    assert SurveyOrder(1, 0.1, skip=False).drift(bounds).tolist() == [np.inf] * 3


def test_first_rows_look_like_violators():
    first = Survey.first(np.array([4, 2]))
    assert first.ids.tolist() == [4, 2]
    assert (first.found, first.scanned, first.visited, first.complete) == (2, 0, 0, False)
    assert (first.violation > 0).all()


def test_surveys_are_united():
    def part(ids, high, low, complete):
        return Survey(
            ids=np.array(ids), violation=np.ones(len(ids)), highest=np.array([high]),
            lowest=np.array([low]), loss=2.0, scanned=5, skipped=1, complete=complete,
            found=len(ids) + 1, visited=6,
        )  # fmt: skip

    both = Survey.united([part([1, 2], 3.0, -1.0, True), part([0], 4.0, 1.0, False)], [0, 10])
    assert both.ids.tolist() == [1, 2, 10]
    assert (both.highest.tolist(), both.lowest.tolist()) == ([4.0], [-1.0])
    assert (both.loss, both.scanned, both.skipped, both.visited) == (4.0, 10, 2, 12)
    assert (both.found, both.complete) == (5, False)
