"""Tables of the paper on ensembles."""

from __future__ import annotations

from support.experiments import answer
from widestreet._experiments.harness.measurement import Measurement
from widestreet._experiments.papers import ensemble
from widestreet._experiments.papers import ensemble_plan as plan
from widestreet._experiments.papers.paper import Findings


def test_distances_stand_beside_the_printed_ones():
    methods = [(plan.LITERAL, 0.6), (plan.PATH, 0.8), (plan.DEFAULT, 0.9)]
    records = [
        answer(Measurement("cancer", 200, method, 1), accuracy=accuracy, loo_accuracy=0.7)
        for method, accuracy in methods
    ]
    table = ensemble.distances(Findings([], records))
    assert [line[0] for line in table.lines] == ["cancer", "mean of 1"]
    for line in table.lines:
        assert line[1:] == ["+5.10", "+20.00", "-10.00", "-", "-"]
