"""The plans of the race."""

from __future__ import annotations

from widestreet._experiments.harness.discovery import tasks
from widestreet._experiments.race.plan import full, quick


def test_the_plans_are_about_what_there_is():
    for plan in (full(), quick()):
        assert {leg.data for leg in plan.legs} <= {*tasks()}
    assert {leg.data for leg in full().legs} == {*tasks()}
