"""Rows that come and go, in miniature."""

from __future__ import annotations

import numpy as np

from widestreet._experiments.__main__ import main
from widestreet._experiments.studies import online


def test_rows_that_come_and_go_in_miniature(monkeypatch, capsys):
    for name, value in (
        ("ROWS", 60), ("ADDED", 4), ("STREAM", 20), ("WINDOW", 30), ("LEFT_OUT", 30),
        ("REFITS", 2), ("PATH_ROWS", 40), ("GRID", 3),
    ):  # fmt: skip
        monkeypatch.setattr(online, name, value)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(64, 3))
    monkeypatch.setattr(online, "cpusmall", lambda: (X, X @ [1.0, 2.0, 3.0]))
    assert main(["online", "--threads", "1"]) == 0
    said = capsys.readouterr().out
    for part in online.PARTS:
        assert f"### {part}" in said
