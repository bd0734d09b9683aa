"""The page of the race, of made-up records."""

from __future__ import annotations

import csv
import re

import pytest

from support.experiments import race_answer
from widestreet._experiments.harness import report
from widestreet._experiments.race import comparison, page


def made_up() -> list[dict]:
    """Enough for every part of the page."""
    records = [
        race_answer(name, rows=n, tol=tol, seconds=k * n**p / tol**0.1, relative_gap=tol, peak_mb=n)
        for name, k, p in (("widestreet", 1e-6, 1.1), ("scikit-learn", 1e-7, 1.9))
        for n in (1000, 10_000, 100_000)
        for tol in (1e-3, 1e-4)
    ]
    records.append(race_answer("libsvm", rows=100_000, status="timeout", limit=60.0))
    shared = {"problem": comparison.SMALL, "sizes": [100, 2000], "violations": [1e-4] * 2}
    return [
        *records,
        race_answer("widestreet", **shared, seconds_each=[0.001, 0.002]),
        race_answer("scikit-learn", **shared, seconds_each=[0.002, 0.006]),
        {
            "status": "answer",
            "threads": 1,
            "imports": {"widestreet": 0.1},
            "all_imports": {"widestreet": [0.1]},
        },
    ]


def test_the_page_is_written(tmp_path):
    target, folder = tmp_path / "docs" / "race.md", tmp_path / "docs" / "race"
    page.publish(made_up(), {"processor": "abacus"}, target, folder)
    text = target.read_text()
    for part_of_it in (
        "abacus",
        ": timed out after 60 s |",
        "## Growth with the number of rows: twonorm",
        "| scikit-learn | 1.90 |",
        "2.50",  # the median ratio on small data
        "`import widestreet` 100 ms",
        "| scikit-learn | 1.2 | one thread",
        "| ThunderSVM |  | not in the race: ",
        "widestreet race --quick",
        "](race/gap.png)",
    ):
        assert part_of_it in text
    names = {path.name for path in folder.iterdir()}
    assert {"gap.png", "time-twonorm.png", "memory-twonorm.png"} <= names
    assert sum(path.stat().st_size for path in folder.glob("*.png")) < 500_000
    with (folder / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 13
    assert {"problem", "rows", "method", "tol", "seconds", "violation"} <= set(rows[0])


def test_the_page_can_do_without_plots(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    page.publish(made_up(), {}, tmp_path / "report.md", tmp_path)
    assert "![" not in (tmp_path / "report.md").read_text()


def test_cells_of_the_comparison():
    ours = comparison.judge([race_answer(seconds=2.0)])
    never = comparison.judge([race_answer(violation=1e-2, tol=1e-4)])
    assert "never; 1.0e-02 at tol 0.0001" in page._times(never, ours)
    late = comparison.judge([race_answer(status="timeout", limit=60.0)])
    assert page._times(late, ours) == "more than 30: timed out after 60 s"
    broken = comparison.judge([race_answer(status="failed", reason="Segmentation | fault")])
    assert page._times(broken, ours) == "Segmentation / fault"


@pytest.mark.parametrize("name", ["METHOD", "COLUMNS", "CAVEATS"])
def test_text_holds_no_measured_numbers(name):
    """Whatever has decimals comes from the records."""
    assert not re.findall(r"\d\.\d", getattr(page, name))
