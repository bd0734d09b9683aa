"""Every paper: its plan, and a miniature from the fits to the pictures."""

from __future__ import annotations

import csv
import re

import pytest
from threadpoolctl import threadpool_limits

from support.experiments import PNG, miniature, parsed
from widestreet._experiments.harness import measure
from widestreet._experiments.harness.records import Store
from widestreet._experiments.papers import command
from widestreet._experiments.papers.catalogue import PAPERS
from widestreet._src import environment


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """No real data, wherever they may be, and no threads that spin."""
    monkeypatch.delenv(environment.DATA, raising=False)
    monkeypatch.delenv(environment.DOWNLOAD, raising=False)
    with threadpool_limits(1):
        yield


@pytest.mark.parametrize("name", PAPERS)
def test_plans_are_about_problems_and_have_no_doubles(name):
    paper = PAPERS[name]
    for quick in (True, False):
        plan = paper.plan(quick)
        assert {one.problem for one in plan} == set(paper.problems())
        assert len({one.name for one in plan}) == len(plan)
        assert len({(one.problem, one.rows) for one in plan}) == len(paper.problems())
    assert len(paper.plan(True)) <= len(paper.plan(False))


@pytest.mark.parametrize("name", PAPERS)
def test_a_miniature_of_the_paper(name, tmp_path, monkeypatch):
    """Everything from the fits to the pictures."""
    paper = miniature(PAPERS[name], chosen="friedman" if name == "insvr" else "")
    monkeypatch.setitem(PAPERS, name, paper)
    options = parsed("reproduce", name, "--out", str(tmp_path), "--threads", "1")
    assert command.main(options, measure.measure) == 0
    records = Store(tmp_path).all()
    assert {r["status"] for r in records} == {"answer"}
    assert len(records) == len(paper.plan(False))
    text = (tmp_path / "report.md").read_text()
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {line.count("|") for line in table.splitlines()}
        assert len(widths) == 1
    assert "paper: " in text or "paper, " in text
    assert "No picture" not in text
    for picture in re.findall(r"\]\(([^)]+\.png)\)", text):
        assert (tmp_path / picture).read_bytes().startswith(PNG)
    with (tmp_path / "results.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(records)
