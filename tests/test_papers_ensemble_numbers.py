"""What follows from the records of the paper on ensembles."""

from __future__ import annotations

import pytest

from widestreet._experiments.papers import ensemble
from widestreet._experiments.papers import ensemble_numbers as numbers
from widestreet._experiments.papers import ensemble_plan as plan
from widestreet._experiments.papers.paper import Findings


def record(problem, method, seed, **found):
    known = {"problem": problem, "method": {"name": method.name}, "seed": seed, "status": "answer"}
    return known | found


def test_distances_are_those_of_the_same_splits():
    records = [
        record("cancer", plan.LITERAL, 0, accuracy=0.7, processor=2.0),
        record("cancer", plan.LITERAL, 1, accuracy=0.6, processor=2.0),
        record("cancer", plan.PATH, 1, accuracy=0.8, loo_accuracy=0.7, processor=6.0),
        record("cancer", plan.DEFAULT, 1, accuracy=0.9, processor=3.0),
    ]
    findings = Findings([], records)
    assert numbers.distance(findings, "cancer", "ensemble", "best") == pytest.approx(20)
    assert numbers.distance(findings, "cancer", "default", "best") == pytest.approx(-10)
    assert numbers.distance(findings, "cancer", "default", "folds") is None
    assert numbers.times(findings, "cancer", plan.PATH.name) == pytest.approx(2)
    table = ensemble.distances(findings)
    assert [line[0] for line in table.lines] == ["cancer", "mean of 1"]
    assert table.lines[0][1:3] == table.lines[1][1:3] == ["+5.10", "+20.00"]
