"""Strategies beside each other."""

from __future__ import annotations

from support.experiments import race_answer
from widestreet._experiments.studies import strategies

WORK = {"kernel_values": 3_000_000, "rounds": 7, "problem": "checkerboard"}


def test_every_strategy_is_measured():
    ours = strategies.ours()
    assert ours[0] == "widestreet"
    assert {f"widestreet-{name}" for name in ("isvm", "randsvm", "rsvm", "prsvm")} < {*ours}


def test_strategies_stand_beside_each_other():
    records = [
        race_answer("widestreet", seconds=2.0, **WORK),
        race_answer("widestreet-isvm", seconds=5.0, certificate="approximate", **WORK),
        race_answer("widestreet-rsvm", status="timeout", limit=90.0, **WORK),
    ]
    text = strategies.report(records, ["checkerboard"], 1)
    assert "2 (1.0)" in text
    assert "5 (2.5, approximate)" in text
    assert "timed out after 90 s" in text
    assert "3 (7)" in text
