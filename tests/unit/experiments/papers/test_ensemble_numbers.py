"""What follows from the records of the paper on ensembles."""

from __future__ import annotations

import pytest

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


def test_members_are_compared_as_printed():
    records = [
        record(name, method, 0, accuracy=accuracy, steps=steps)
        for place, name in enumerate(plan.SETS)
        for method, accuracy, steps in (
            (plan.LITERAL, 0.9, 10 + place),
            (plan.LAST, 0.9 - 0.1 * (place > 1) - 1e-5, 5),
        )
    ]
    found = numbers.member_facts(Findings([], records))
    assert found["below_last_count"] == f"{len(plan.SETS) - 2} of {len(plan.SETS)}"
    assert "`cancer`" not in found["below_last"]
    assert (found["fewest_steps"], found["most_steps"]) == ("10", str(9 + len(plan.SETS)))
