"""Runs of the race as lines."""

from __future__ import annotations

from support.experiments import race_answer
from widestreet._experiments.race.tables import CELLS, cells, every_run


def test_every_run_has_all_cells():
    late = race_answer("null", status="timeout", limit=60.0)
    assert len(cells(race_answer())) == len(cells(late)) == len(CELLS)
    lines = every_run([race_answer(), late]).splitlines()
    assert lines[2].startswith("| twonorm | 200 | widestreet | 0.001 | 1 | 10 |")
    assert "| null | 0.001 | timed out after 60 s |" in lines[3]
