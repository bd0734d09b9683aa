"""Tables of fitted models, in miniature."""

from __future__ import annotations

import pytest

from widestreet._experiments.studies import models


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def test_latency_in_miniature(monkeypatch):
    monkeypatch.setattr(models, "VECTORS", (30,))
    monkeypatch.setattr(models, "CALLS", 5)
    lines = cells(models.one_row(1))
    assert [line[:2] for line in lines] == [["30", "10"], ["30", "100"]]
    assert all(float(value) > 0 for line in lines for value in line[2:])


def test_compaction_in_miniature(monkeypatch):
    every = [(name, *one) for name, *one in models._problems() if "diabetes" in name]
    monkeypatch.setattr(models, "_problems", lambda: iter(every))
    monkeypatch.setattr(models, "POINTS", 100)
    monkeypatch.setattr(models, "POINTS_AT_ONCE", 50)
    ((name, size, tolerance, before, after, bound, found, _),) = cells(models.compaction(1))
    assert (name, size) == ("diabetes, regression", "442 x 3")
    assert int(after) < int(before)
    assert float(found) <= float(bound) <= float(tolerance)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # when shap is imported
def test_explanation_in_miniature(monkeypatch):
    for name in ("EXPLAINED", "BACKGROUND"):
        monkeypatch.setattr(models, name, 3)
    monkeypatch.setattr(models, "TRAINED", 60)
    lines = cells(models.explanation(1))
    assert lines[0][0] == "widestreet"
    assert float(lines[0][1]) > 0
