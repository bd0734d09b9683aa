"""The numbers that the paper on ensembles printed."""

from __future__ import annotations

from statistics import fmean

import pytest

from widestreet._experiments.papers import ensemble_plan as plan


def test_the_printed_table():
    """Every line is compared once, and the distance is that of the two columns."""
    assert {plan.SETS[name].printed for name in plan.COMPARED} == set(plan.PRINTED)
    assert len(plan.COMPARED) == len(plan.PRINTED)
    assert {len(line) for line in plan.PRINTED.values()} == {len(plan.COLUMNS)}
    assert plan.printed_distance(["cancer"]) == pytest.approx(28.2 - 23.1)
    every = [line[4] - line[0] for line in plan.PRINTED.values()]
    assert plan.printed_distance(plan.COMPARED) == pytest.approx(fmean(every))
