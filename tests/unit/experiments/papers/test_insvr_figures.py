"""Figures 2 and 3 of INSVR, of made-up trials."""

from __future__ import annotations

import pytest

from support.experiments import answer
from widestreet._experiments.harness.measurement import Measurement
from widestreet._experiments.papers import insvr_figures, insvr_problems, insvr_trials
from widestreet._experiments.papers.paper import Findings


def findings() -> Findings:
    """INSVR takes 2 s, every other method 1 s; steps grow with the size."""
    check = {"violation": 1e-12, "gap": 1e-12, "seconds": 1.0}
    plan = [
        Measurement(name, 100, insvr_figures.method(True)) for name in insvr_problems.problems()
    ]
    cells = [
        dict.fromkeys(insvr_trials.WAYS, check)
        | {"insvr": check | {"seconds": 2.0}, "size": size, "trials": 3, "failed": 0}
        | dict.fromkeys((*insvr_trials.STAGES, "steps"), size / 50)
        for size in (50, 100)
    ]
    return Findings(plan, [answer(one, cells=cells) for one in plan])


def test_ratios_and_steps():
    found = insvr_figures.facts(findings())
    assert (found["path_times"], found["insvr_times"]) == ("0.5", "1")
    assert found["libsvm_slower"] == "0 of 27"
    assert (found["stages_small"], found["stages_mean"]) == ("3.0", "6.0")
    with pytest.raises(KeyError, match="Figures 2 and 3"):
        insvr_figures.facts(Findings([], []))


def test_tables_have_the_largest_size_of_each_set_and_kernel():
    parts = insvr_figures.figure_two(findings())
    largest, every = (part for part in parts if hasattr(part, "lines"))
    assert {line[2] for line in largest.lines} == {"100"}
    assert len(every.lines) == 2 * len(largest.lines) == 54
