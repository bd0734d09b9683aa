"""Ensembles in miniature."""

from __future__ import annotations

from types import SimpleNamespace

from widestreet._experiments.__main__ import main
from widestreet._experiments.studies import ensemble

ABSENT = SimpleNamespace(missing=lambda: "no data")


def test_ensembles_in_miniature(monkeypatch, capsys):
    for name, value in (
        ("RANKS", (5, 10)), ("COVTYPE_ROWS", 80), ("COVTYPE_RANK", 10), ("SIZES", (40, 80)),
        ("FIXED_RANK", 5), ("FIXED_STEPS", 3),
    ):  # fmt: skip
        monkeypatch.setattr(ensemble, name, value)
    loaded = ensemble.loaded
    monkeypatch.setattr(ensemble, "tasks", lambda: {"a9a": ABSENT, "covtype-2": ABSENT})
    monkeypatch.setattr(ensemble, "loaded", lambda name, rows: loaded(name, min(rows, 120)))
    assert main(["ensemble", "--threads", "1"]) == 0
    said = capsys.readouterr().out
    for part in ensemble.PARTS:
        assert f"### {part}" in said
    assert "EnsembleSVC, rank 10, 5 folds" in said
