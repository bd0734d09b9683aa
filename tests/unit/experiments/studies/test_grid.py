"""A grid with and without warm starts, in miniature."""

from __future__ import annotations

from widestreet._experiments.studies import grid


def test_a_grid_in_miniature(monkeypatch):
    monkeypatch.setattr(grid, "ROWS", 60)
    monkeypatch.setattr(grid, "PARAMETERS", {"C": [1.0, 2.0], "gamma": [0.05]})
    lines = grid.warm_starts(1).splitlines()[2:]
    assert len(lines) == 6
    assert all("| 60 | 2 |" in line for line in lines)
    apart = [float(line.split("|")[8]) for line in lines if "| cold |" in line]
    assert len(apart) == 2
    assert max(apart) < 1e-2
