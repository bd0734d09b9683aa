"""Example points lie in the plane."""

from __future__ import annotations

import pytest

from widestreet._src.playground.examples import DIGITS, EXAMPLES, HEIGHT, WIDTH, example
from widestreet._src.playground.machines import MACHINES, TABS


@pytest.mark.parametrize("tab", TABS)
def test_points_of_every_example(tab):
    for name in EXAMPLES[tab]:
        places = example(tab, name)
        assert places == example(tab, name)
        assert len(places) >= 40
        for x, y, label in places:
            assert abs(x) <= WIDTH
            assert abs(y) <= HEIGHT
            assert (round(x, DIGITS), round(y, DIGITS)) == (x, y)
            assert label in (0, 1)
        labelled = MACHINES[TABS[tab][0]].targets == "labels"
        assert {label for *_, label in places} == ({0, 1} if labelled else {0})
