"""Pages of text, tables and figures."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from support.experiments import PNG, answer
from widestreet._experiments.harness import report
from widestreet._experiments.harness.report import Figure, Section, Table
from widestreet._experiments.harness.tables import Spread, count


def test_tables_become_markdown_and_csv(tmp_path):
    lines = [["a", Spread([1.0, 3.0], count)], ["paper: a", "less than 3600"]]
    table = Table("one", ["method", "time, s"], lines)
    assert "| a | 2 ± 1 |" in table.markdown()
    table.write(tmp_path)
    with (tmp_path / "one.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["method", "time, s", "time, s: deviation"]
    assert [float(value) for value in rows[1][1:]] == pytest.approx([2.0, np.sqrt(2)])
    assert rows[2] == ["paper: a", "less than 3600", ""]


def drawing():
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas()
    canvas.subplots().plot([1, 2])
    return canvas


def test_a_page_has_all_its_parts(tmp_path):
    parts = ["Words.", Table("t", ["x"], [["1"]]), Figure("f", "A line", drawing)]
    beside = tmp_path / "docs" / "paper"
    sections = [Section("One", parts), Section("Empty", ["", ""])]
    report.write(sections, "Title", tmp_path / "docs" / "paper.md", beside)
    text = (tmp_path / "docs" / "paper.md").read_text()
    places = ["# Title", "## One", "Words.", "| x |", "![A line](paper/f.png)"]
    assert sorted(places, key=text.index) == places
    assert "Empty" not in text
    assert (beside / "f.png").read_bytes().startswith(PNG)
    assert (beside / "t.csv").exists()


def test_a_page_without_matplotlib_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    figure = Figure("f", "A line", lambda: pytest.fail("nobody can draw"))
    report.write([Section("One", [figure])], "Title", tmp_path / "page.md", tmp_path)
    assert "No picture without matplotlib: A line" in (tmp_path / "page.md").read_text()


def test_records_become_lines_of_single_values(tmp_path):
    records = [answer(seconds=1 / 3, all_seconds=[1.0]), answer(others=0.5)]
    report.write_records(records, tmp_path / "results.csv")
    with (tmp_path / "results.csv").open() as file:
        first, second = csv.DictReader(file)
    assert (first["method"], first["seconds"], second["others"]) == ("auto", "0.333333", "0.5")
    assert "all_seconds" not in first


def test_the_machine_and_its_noise():
    records = [answer(others=0.0), answer(others=1.0), answer(others=None)]
    table, noise = report.machine_section({"processor": "abacus"}, records).parts
    assert "| processor | abacus |" in table
    assert "During 1 of 2 measurements" in noise
    assert report.machine_section({}, records[2:]).parts[1] == ""
