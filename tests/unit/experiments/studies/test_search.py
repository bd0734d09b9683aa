"""Grid searches against scikit-learn's, in miniature."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from widestreet._experiments.harness.task import Split
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


def test_parts_on_large_sets_whose_files_are_missing_are_left_out(monkeypatch):
    rows = partial(search.noisy_labels, 60)
    parts = [
        search.Part("one", rows, (1.0, 2.0), (0.1,)),
        search.Part("other", rows, (1.0,), (0.1,), "a9a"),
    ]
    monkeypatch.setattr(search, "large_parts", lambda: parts)
    monkeypatch.setenv("WIDESTREET_DATA", "")
    (line,) = search.large(1).splitlines()[2:]
    assert [cell.strip() for cell in line.split("|")[1:4]] == ["one", "60 x 10", "2 x 1"]
    assert line.split("|")[5].endswith("times ")


def test_rows_of_a_task_are_put_together_in_another_order():
    def load():
        return Split(
            np.arange(4.0)[:, None], np.arange(4), np.arange(4.0, 6)[:, None], np.arange(4, 6)
        )

    X, y = search.shuffled(load)
    assert X[:, 0].tolist() == y.tolist() != sorted(y)
    assert sorted(y) == list(range(6))


def test_searches_with_a_limit(monkeypatch):
    monkeypatch.setattr(search, "checkerboard", partial(_few, search.checkerboard))
    lines = search.limited(1).splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == ['"scale"', "one", "four"]


def _few(generate, rows, random_state):
    return generate(rows // 20, random_state=random_state)
