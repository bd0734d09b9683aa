"""The examples: they run, and what they print is what they promise."""

from __future__ import annotations

import ast
import importlib
import re
import runpy

import matplotlib
import pytest

from conftest import TOL
from support.checkout import ROOT

EXAMPLES = ROOT / "examples"


@pytest.fixture
def printed(capsys):
    """What an example prints, line by line."""

    matplotlib.use("agg")

    def run(name: str) -> list[str]:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def numbers(line: str) -> list[float]:
    return [float(found) for found in re.findall(r"\d+(?:\.\d+)?(?:e[-+]\d+)?", line)]


# All examples are run when the site is built. What the following two print is checked here.


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_have_a_title_and_use_public_names(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    title, underline, empty, text, *_ = ast.get_docstring(tree).splitlines()
    assert len(underline) == len(title)
    assert set(underline) == {"="}
    assert (empty, bool(text)) == ("", True)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("widestreet"):
            public = importlib.import_module(node.module).__all__
            assert {alias.name for alias in node.names} <= set(public)


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
