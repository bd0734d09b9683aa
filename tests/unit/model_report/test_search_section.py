"""The search on the page."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from support.machines import data
from support.pages import Page
from widestreet._src.model_report.search_section import section
from widestreet.model_selection import GridSearchCV


def test_a_grid_is_drawn_with_its_best_point():
    grid = {"C": [1, 10, 100], "gamma": [0.1, 1.0]}
    search = GridSearchCV(ws.SVC(), grid).fit(*data("svc"))
    page = Page.of(section(search).content)
    assert page.numbers["search.best_score"] == search.best_score_
    assert page.numbers["search.candidates"] == 6
    for k, mean in enumerate(search.cv_results_["mean_test_score"]):
        assert page.numbers[f"search.{k}.mean"] == mean
    cells = [one for one in page.named("rect") if one["class"].startswith("cell")]
    assert len(cells) == 6
    assert [one["class"] for one in cells].count("cell marked") == 1


@pytest.mark.filterwarnings("ignore:the best value of")
def test_a_search_of_this_package():
    model = ws.SVCCV(random_state=0).fit(*data("svc"))
    page = Page.of(section(model).content)
    assert page.numbers["search.best_score"] == model.best_score_
    assert page.numbers["search.candidates"] == len(model.scores_)
    assert page.named("svg")


@pytest.mark.parametrize(
    "grid", [{"C": [1.0, 2.0]}, {"kernel": ["rbf", "linear"], "C": [1.0, 2.0]}, {"C": [1.0]}]
)
def test_one_number_needs_no_picture(grid):
    page = Page.of(section(GridSearchCV(ws.SVC(), grid).fit(*data("svc"))).content)
    assert page.named("svg") == []
    assert np.isfinite(page.numbers["search.best_score"])


def test_several_scores():
    search = GridSearchCV(
        ws.SVC(), {"C": [1.0, 2.0]}, scoring=["accuracy", "f1"], refit="f1"
    ).fit(*data("svc"))  # fmt: skip
    page = Page.of(section(search).content)
    assert page.numbers["search.best_score"] == search.best_score_
