"""Grid searches against scikit-learn's, in miniature."""

from __future__ import annotations

from functools import partial

import pytest

from widestreet._experiments.studies import search


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(search, "GRID", {"C": [1.0, 2.0], "gamma": search.GRID["gamma"][3:5]})


def test_every_case_has_a_line_with_its_ratios(monkeypatch):
    made = partial(search.noisy_labels, 60)
    monkeypatch.setattr(search, "CASES", [("one", made, [0, 1], True), ("other", made, [1], False)])
    both, ours = (line.split("|") for line in search.shared(1).splitlines()[2:])
    assert [both[1].strip(), both[3].strip()] == ["60, one", "all"]
    assert both[4].endswith("times ")
    assert both[5].endswith("times ")
    assert [ours[3].strip(), ours[5].strip()] == ["1", ""]


def test_searches_with_a_limit(monkeypatch):
    monkeypatch.setattr(search, "checkerboard", partial(_few, search.checkerboard))
    lines = search.limited(1).splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == ['"scale"', "one", "four"]


def _few(generate, rows, random_state):
    return generate(rows // 20, random_state=random_state)
