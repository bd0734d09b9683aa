"""iSVM: what its records have."""

from __future__ import annotations

from support.experiments import miniature
from widestreet._experiments.harness import measure
from widestreet._experiments.harness.measurement import Measurement
from widestreet._experiments.papers import isvm


def test_isvm_reports_how_stage_one_ended():
    paper = miniature(isvm.PAPER)
    (found,) = measure.measure(paper, [Measurement("web", 120, isvm.ISVM)])
    assert found["ended"] in ("sample", "size", "average")
    assert found["stage_one_iterations"] < found["rounds"]
    assert found["certificate"] == "approximate"
