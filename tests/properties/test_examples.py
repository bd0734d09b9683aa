"""The examples: they run, and what they print is what they promise."""

from __future__ import annotations

import re
import runpy

import pytest

from conftest import TOL
from support.checkout import ROOT

EXAMPLES = ROOT / "examples"


@pytest.fixture
def printed(capsys):
    """What an example prints, line by line."""

    def run(name: str) -> list[str]:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def numbers(line: str) -> list[float]:
    return [float(found) for found in re.findall(r"\d+(?:\.\d+)?(?:e[-+]\d+)?", line)]


def test_every_example_has_a_test():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "drifting_series.py",
        "forgetting_a_person.py",
    }


def test_a_window_follows_a_series_that_drifts(printed):
    _, before, after, later, proof = printed("drifting_series.py")
    window, once = numbers(later)
    assert window < 0.1 * once
    assert numbers(before)[0] < 2 * numbers(before)[1]
    assert window < numbers(after)[-2]
    assert proof.startswith("150 rows, optimal")


def test_a_person_is_forgotten(printed):
    removed, moved, proof, difference, left = printed("forgetting_a_person.py")
    rows, every, _ = numbers(removed)
    assert numbers(moved)[0] > 1e-3  # they had a say
    assert proof.startswith(f"certificate of {every - rows:.0f} rows: optimal")
    assert numbers(difference)[0] <= TOL.detour
    assert numbers(left) == [0]
