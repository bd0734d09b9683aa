"""`python -m widestreet._experiments`."""

from __future__ import annotations

import pytest

from widestreet._experiments import __main__ as command
from widestreet._experiments.papers.catalogue import PAPERS
from widestreet._experiments.race import schedule


def test_chosen_solvers_run_on_chosen_data(tmp_path, capsys):
    words = ["--data", "twonorm", "--rows", "200", "--solver", "null", "--out", str(tmp_path)]
    assert command.main(["run", *words, "--threads", "1"]) == 0
    said = capsys.readouterr()
    assert "| twonorm | 200 | null | 0.001 |" in said.out
    assert "twonorm 200 null" in said.err


@pytest.mark.parametrize("words", [["--data", "nothing"], ["--data", "twonorm", "--solver", "x"]])
def test_unknown_names_are_refused(words):
    with pytest.raises(SystemExit, match="unknown"):
        command.main(["run", *words])


def test_every_experiment_can_be_measured():
    assert {*PAPERS, schedule.RACE.name, "small", "luck"} == {*command.EXPERIMENTS}


def test_the_list(capsys):
    assert command.main(["list"]) == 0
    assert "checkerboard" in capsys.readouterr().out
