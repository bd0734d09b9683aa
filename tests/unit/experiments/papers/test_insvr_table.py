"""Table 3 of INSVR: the printed numbers, and counts beside them."""

from __future__ import annotations

import pytest

from support.experiments import answer
from widestreet._experiments.harness.measurement import Measurement
from widestreet._experiments.papers import insvr_table, insvr_trials
from widestreet._experiments.papers.paper import Findings


def test_the_printed_table_of_insvr():
    """Numbers that the paper's prose and our words point at."""
    assert insvr_table.printed("friedman", 20, "conflict_1", "rbf") == 537
    assert insvr_table.printed("housing", 10, "sc_2", "linear") == 2
    assert insvr_table.printed("forest-fires", 20, "conflict_2", "poly") == 91
    assert {len(line) for lines in insvr_table.PRINTED.values() for line in lines} == {12}
    assert insvr_table.ranked([(1, 2), (2, 3), (3, 9)]) == pytest.approx(1)
    assert insvr_table.ranked([(1, 2), (1, 3)]) == 0


def test_counts_stand_beside_the_printed_ones():
    (method,) = insvr_table.methods("friedman", "linear", True)
    cell = {"size": 20, "trials": 50, "failed": 1, "trials_with_case": 3}
    cell |= dict.fromkeys((*insvr_trials.CASES, *insvr_trials.MORE), 4)
    cell |= {"violation": 1e-12, "gap": 1e-13}
    one = Measurement("friedman-linear", 100, method)
    words, table, _ = insvr_table.table_three(Findings([one], [answer(one, cells=[cell])]))
    assert "1\nof 50 trials failed" in words or "1 of 50 trials failed" in words
    assert table.lines[0][:5] == ["Friedman", "20", "4 / 2", "- / 0", "- / 537"]
