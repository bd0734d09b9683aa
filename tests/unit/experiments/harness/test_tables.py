"""Numbers and records as cells."""

from __future__ import annotations

import numpy as np

from support.experiments import answer
from widestreet._experiments.harness import tables
from widestreet._experiments.harness.measurement import AUTO, Measurement
from widestreet._experiments.harness.tables import Spread, count, percent

ONE = Measurement("p", 10, AUTO, limit=60.0)


def test_a_spread_is_written_as_mean_and_deviation():
    assert str(Spread([0.5, 0.7], percent)) == "60.00 ± 14.14"
    assert str(Spread([1234.0], count)) == "1,234"
    assert str(Spread([0.00271, 0.00275])) == "0.00273 ± 0.00003"
    assert str(Spread([1200.0, 1300.0])) == "1,250 ± 71"
    assert Spread([3.0]).deviation is None


def test_cells_say_why_there_is_no_time():
    assert str(tables.seconds([answer(ONE)])) == "1.5"
    assert tables.seconds([]) == "not run"
    assert tables.seconds([ONE.facts | {"status": "timeout"}]) == "> 60"
    assert tables.seconds([answer(ONE, certificate="time_limit")]) == "> 60"
    assert "no memory" in tables.seconds([ONE.facts | {"status": "failed", "reason": "no memory"}])


def test_cells_show_the_worst_certificate():
    runs = [answer(ONE), answer(ONE, certificate="approximate", violation=2.0)]
    assert tables.certified(runs) == ["optimal (1), approximate (1)", "2.0e+00", "1.0e-05"]
    assert tables.certified([ONE.facts | {"status": "timeout"}]) == [tables.DASH] * 3
    hasty = answer(ONE, certificate="time_limit", violation=np.inf)
    assert tables.certified([hasty])[1] == "not computed"


def test_records_in_a_line():
    line = tables.brief(answer(ONE))
    assert line == "1.5 s, accuracy 0.9000, 10 SVs, violation 5.0e-04, optimal"
    assert tables.brief(ONE.facts | {"status": "timeout"}) == "timed out after 60 s"
    assert tables.brief({"status": "failed", "reason": "a | b"}) == "failed: a / b"
