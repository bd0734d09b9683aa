"""The benchmarks of this library alone: strategies beside each other, rows that come and go."""

from __future__ import annotations

import argparse
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import ensemble, online, parts, strategies
from benchmarks.discovery import invited, solvers

ABSENT = SimpleNamespace(missing=lambda: "no data")


def record(solver: str, seconds: float, **more: object) -> dict[str, object]:
    remarks = {"status": "optimal", "kernel_values": 3_000_000, "rounds": 7}
    return {
        "data": "checkerboard",
        "rows": 1000,
        "solver": solver,
        "status": "answer",
        "seconds": seconds,
        "n_sv": 90,
        "remarks": remarks,
    } | more


def test_every_strategy_is_measured_and_two_of_them_race():
    assert strategies.ours()[0] == "widestreet"
    assert {"widestreet-isvm", "widestreet-randsvm", "widestreet-rsvm", "widestreet-prsvm"} < set(
        strategies.ours()
    )
    assert [n for n in invited() if solvers()[n].package == "widestreet"] == [
        "widestreet",
        "widestreet-smo",
    ]


def test_strategies_stand_beside_each_other():
    records = [
        record("widestreet", 2.0),
        record("widestreet-isvm", 5.0),
        record("widestreet-rsvm", 0.0, status="timeout", limit=90.0),
    ]
    text = strategies.report(records, ["checkerboard"], 1)
    assert "2 (1.0)" in text
    assert "5 (2.5)" in text
    assert "no answer in 90 s" in text
    assert "3 (7)" in text


def test_a_page_keeps_what_is_outside_the_marks():
    page = f"before\n{strategies.BEGIN}\nold\n{strategies.END}\nafter\n"
    found = strategies.placed(page, "new")
    assert found == f"before\n{strategies.BEGIN}\nnew\n{strategies.END}\nafter\n"
    with pytest.raises(ValueError, match="no marks"):
        strategies.placed("nothing", "new")


def test_rows_that_come_and_go_in_miniature(monkeypatch, capsys):
    for name, value in (
        ("ROWS", 60), ("ADDED", 4), ("STREAM", 20), ("WINDOW", 30), ("LEFT_OUT", 30),
        ("REFITS", 2), ("PATH_ROWS", 40), ("GRID", 3),
    ):  # fmt: skip
        monkeypatch.setattr(online, name, value)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(64, 3))
    monkeypatch.setattr(online, "cpusmall", lambda: (X, X @ [1.0, 2.0, 3.0]))
    assert parts.show(argparse.Namespace(threads=1, only=None), online.PARTS) == 0
    said = capsys.readouterr().out
    for part in online.PARTS:
        assert f"### {part}" in said


def test_ensembles_in_miniature(monkeypatch, capsys):
    for name, value in (
        ("RANKS", (5, 10)), ("COVTYPE_ROWS", 80), ("COVTYPE_RANK", 10), ("SIZES", (40, 80)),
        ("FIXED_RANK", 5), ("FIXED_STEPS", 3),
    ):  # fmt: skip
        monkeypatch.setattr(ensemble, name, value)
    loaded = ensemble.loaded
    monkeypatch.setattr(ensemble, "tasks", lambda: {"a9a": ABSENT, "covtype-2": ABSENT})
    monkeypatch.setattr(ensemble, "loaded", lambda name, rows: loaded(name, min(rows, 120)))
    assert parts.show(argparse.Namespace(threads=1, only=None), ensemble.PARTS) == 0
    said = capsys.readouterr().out
    for part in ensemble.PARTS:
        assert f"### {part}" in said
    assert "EnsembleSVC, rank 10, 5 folds" in said
