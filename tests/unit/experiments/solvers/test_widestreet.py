"""Every strategy of this library in the race."""

from __future__ import annotations

import pytest

from support.experiments import check_solver
from widestreet._experiments.harness.discovery import solvers
from widestreet._experiments.solvers import widestreet

OURS = [solver.name for solver in widestreet.SOLVERS]


@pytest.mark.parametrize("name", OURS)
def test_its_solutions_are_certified(name):
    check_solver(name)


def test_options_are_part_of_the_name():
    solver = solvers()["widestreet-isvm-block-256"]
    assert solver.title == "widestreet (isvm, block=256)"
    assert solvers()["widestreet"].plan == "auto"
