"""The plots of the race."""

from __future__ import annotations

from support.experiments import race_answer
from widestreet._experiments.harness.discovery import solvers
from widestreet._experiments.race import plots


def test_solvers_have_colours_of_their_own():
    styles = [(plots._style(n)["color"], plots._style(n)["marker"]) for n in solvers()]
    assert len(set(styles)) == len(styles)


def test_gaps_are_drawn_where_there_are_several_tolerances():
    assert plots.gaps([race_answer()]) == []
    (figure,) = plots.gaps([race_answer(), race_answer(tol=1e-4)])
    assert figure.name == "gap"
    assert len(figure.draw().axes) == 1
