"""The fused scan against the NumPy expression, in miniature."""

from __future__ import annotations

from widestreet._experiments.studies import scan


def test_both_scans_agree(monkeypatch):
    for name, value in (("ROWS", 100), ("VECTORS", 20), ("REPEATS", 1)):
        monkeypatch.setattr(scan, name, value)
    lines = scan.fused(1).splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == ["4", "20", "54"]
    assert max(float(line.split("|")[6]) for line in lines) < 1e-3
