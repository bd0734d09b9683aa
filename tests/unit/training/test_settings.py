"""Settings: the violation at which a fit ends, and threads that are worth waking."""

from __future__ import annotations

import dataclasses

import pytest

from support.settings import settings
from widestreet._src.problems.goal import Goal
from widestreet._src.training.settings import Resources, threads_for


def test_a_fit_to_an_optimum_ends_by_its_violation_and_others_do_not():
    given = settings(goal=Goal(1e-3))
    assert given.final_violation == 1e-3
    names = [field.name for field in dataclasses.fields(Resources)]
    assert Resources(**{name: getattr(given, name) for name in names}).final_violation == 0.0


@pytest.mark.parametrize("threads", [1, 3, 8])
def test_few_rows_use_few_threads(threads):
    used = [threads_for(rows, settings(threads=threads)) for rows in (1, 500, 2000, 10**6)]
    assert used[0] == used[1] == 1
    assert used == sorted(used)
    assert used[-1] == threads


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings().skip = False
