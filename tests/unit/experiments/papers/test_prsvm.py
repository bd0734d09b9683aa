"""PRSVM: what its records have."""

from __future__ import annotations

from widestreet._experiments.harness import measure
from widestreet._experiments.harness.measurement import Measurement
from widestreet._experiments.papers import prsvm


def test_prsvm_reports_every_iteration_and_the_weights():
    one = Measurement(prsvm.GAUSSIANS, 300, prsvm.letter(1, 60, 20))
    (found,) = measure.measure(prsvm.PAPER, [one])
    assert found["iterations"] == len(found["violators_each"]) == len(found["doubled_each"])
    assert {len(levels) for levels in found["levels"]} == {300}
    assert sum(found["levels"][-1]) > 0
    if found["certificate"] == "optimal":
        assert found["violators_each"][-1] == 0


def test_the_iteration_with_a_tenth_of_the_violators():
    assert prsvm.tenth([{"violators_each": [100, 50, 10, 3]}]) == "3"
    assert prsvm.tenth([{"violators_each": [100, 50]}]) == "more than 2"
