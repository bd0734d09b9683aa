"""What was found for a paper."""

from __future__ import annotations

import pytest

from support.experiments import answer
from widestreet._experiments.harness.measurement import AUTO, SKLEARN, Measurement
from widestreet._experiments.papers.paper import Findings, slot

PLAN = [Measurement("p", 10, method, seed, 60.0) for method in (AUTO, SKLEARN) for seed in (0, 1)]


def findings(**said) -> Findings:
    seconds = {0: 1.0, 1: 3.0}
    records = [answer(one, seconds=seconds[one.seed]) for one in PLAN[:2]]
    return Findings(PLAN, [*records, *(answer(one, **said) for one in PLAN[2:])])


def test_means_of_the_runs_that_ended():
    found = findings(status="failed")
    assert found.mean("p", "auto", "seconds") == 2.0
    assert found.mean("p", "libsvm", "seconds") is None
    assert found.numbers()[slot("p", "auto", "seconds")] == "2"
    assert found.deviation("p", "auto", "seconds") == pytest.approx(2**0.5)
    with pytest.raises(KeyError, match="libsvm on p"):
        found.known("p", "libsvm", "seconds")


def test_ratios_of_times():
    assert findings(seconds=8.0).times("p", "libsvm", "auto") == "4"
    assert findings(status="timeout").times("p", "libsvm", "auto") == "more than 30"
    with pytest.raises(KeyError, match="libsvm on p"):
        findings(status="failed").times("p", "libsvm", "auto")


def test_names_of_slots():
    assert slot("zero-one", "isvm-0.1", "n_sv") == "zero_one_isvm_0_1_n_sv"
