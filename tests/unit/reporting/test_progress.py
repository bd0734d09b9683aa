"""One observer: silent unless asked, everything in the log, a line that says what is going on."""

from __future__ import annotations

import io
import logging
import math
import time
from dataclasses import replace

import pytest
from rich.console import Console

from support.trace_records import record
from widestreet import SVC
from widestreet._src.reporting.progress import (
    ProgressBar,
    clock,
    count,
    describe,
    fraction,
    observer,
)
from widestreet.datasets import checkerboard

FIELDS = (
    "round 9", "working set 4,096", "SVs 2,697", "violation 2.1e-02 (tol 0.001)",
    "gap (estimate) 3.4e-01", "scanned 1.0M", "skipped 912.3k", "12.4 s",
)  # fmt: skip


@pytest.fixture
def moving(monkeypatch):
    """A clock that is moved by hand."""

    class Clock:
        now = 50.0

    monkeypatch.setattr(time, "perf_counter", lambda: Clock.now)
    return Clock


def bar(tol=1e-3, **options) -> tuple[ProgressBar, io.StringIO]:
    out = io.StringIO()
    console = Console(file=out, width=options.pop("width", 200), **options.pop("console", {}))
    return ProgressBar(tol, console=console, **options), out


def assert_same_rounds(logged, trace) -> None:
    """A round is logged when it ends; the trace adds the seconds of the check that ends the fit."""
    assert [replace(r, timings={}) for r in logged] == [replace(r, timings={}) for r in trace]
    for before, after in zip(logged, trace, strict=True):
        assert all(seconds <= after.timings[step] for step, seconds in before.timings.items())


# -- silence and the log -----------------------------------------------------------------------


def test_silent_by_default(capfd):
    with observer(0, 1e-3) as observe:
        observe(record())
    assert observe.bar is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("error")
def test_a_fit_is_silent_by_default(capfd):
    X, y = checkerboard(300, random_state=0)
    SVC(gamma=2.0, n_jobs=1).fit(X, y).predict(X)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("verbose", [0, 1])
def test_each_record_is_logged(verbose, caplog):
    with caplog.at_level(logging.DEBUG, "widestreet"), observer(verbose, 1e-3) as observe:
        for number in (1, 2):
            observe(record(round=number))
    assert [r.name for r in caplog.records] == ["widestreet"] * 2
    assert all(r.levelno == logging.DEBUG for r in caplog.records)
    assert [r.record.round for r in caplog.records] == [1, 2]
    text = caplog.records[1].getMessage()
    for part in (
        "round 2",
        "2697 SVs (131 free)",
        "violation 0.021",
        "gap (estimate) 0.34",
        "1234.5",
    ):
        assert part in text


def test_a_fit_logs_its_trace(caplog):
    X, y = checkerboard(300, random_state=0)
    with caplog.at_level(logging.DEBUG, "widestreet"):
        model = SVC(gamma=2.0, n_jobs=1).fit(X, y)
    logged = [r.record for r in caplog.records if hasattr(r, "record")]
    assert_same_rounds(logged, model.trace_)
    assert len(logged) > 0


def test_the_library_adds_no_handler():
    assert logging.getLogger("widestreet").handlers == []


# -- plain lines -------------------------------------------------------------------------------


@pytest.mark.parametrize("verbose", [1, 2])
def test_without_a_terminal_lines_go_to_standard_error(verbose, capsys):
    with observer(verbose, 1e-3) as observe:
        observe(record())
    out, err = capsys.readouterr()
    assert out == ""
    for field in FIELDS:
        assert field in err
    assert err.count("\n") == 1
    assert "\x1b" not in err


def test_at_most_one_line_a_second_and_the_last_round_always(moving):
    drawing, out = bar()
    with drawing:
        for number in range(1, 26):
            drawing(record(round=number))
            moving.now += 0.1
    rounds = [int(line.split()[1]) for line in out.getvalue().splitlines()]
    assert rounds == [1, 11, 21, 25]


def test_a_line_for_every_round(moving):
    drawing, out = bar(every_round=True)
    with drawing:
        for number in range(1, 6):
            drawing(record(round=number))
    rounds = [int(line.split()[1]) for line in out.getvalue().splitlines()]
    assert rounds == [1, 2, 3, 4, 5]


def test_nothing_happened():
    drawing, out = bar()
    with drawing:
        pass
    assert out.getvalue() == ""


def test_lines_are_not_wrapped():
    drawing, out = bar(width=20)
    with drawing:
        drawing(record())
    assert out.getvalue().count("\n") == 1


# -- the live line -----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_live_line_shows_everything_and_fits(width):
    drawing, _ = bar(width=width, console={"force_terminal": True})
    with drawing:
        drawing(record())
        text = drawing._line().plain
    for field in FIELDS[:-1]:
        assert field in text
    if width >= 80:
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("problems", [1, 4])
def test_without_a_goal_only_problems_fill_the_bar(problems):
    drawing, out = bar(tol=0.0, problems=problems, every_round=True)
    with drawing:
        drawing(record(violation=1.0))
        drawing(record(violation=1e-9))
        assert "tol" not in out.getvalue()
        assert drawing._done == 0
        assert ("━" in drawing._line().plain) == (problems > 1)
        drawing(record(problem=problems - 1))
        assert drawing._done == (problems - 1) / problems


def test_the_live_line_before_the_first_round():
    drawing, _ = bar(console={"force_terminal": True})
    with drawing:
        assert drawing._line().plain.startswith("starting")


def test_a_terminal_gets_a_live_line_that_ends():
    drawing, out = bar(console={"force_terminal": True})
    with drawing:
        drawing(record())
    assert "round 9" in out.getvalue()
    assert drawing._live is None


def test_an_interrupt_ends_the_live_line():
    drawing, _ = bar(console={"force_terminal": True})

    def interrupted():
        with drawing:
            drawing(record())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert drawing._live is None


def test_the_bar_never_goes_back():
    drawing, _ = bar(console={"force_terminal": True})
    done = []
    with drawing:
        for violation in (math.inf, 1.0, 0.1, 0.5, 0.01, 5.0, 1e-3, 0.2):
            drawing(record(violation=violation))
            done.append(drawing._done)
    assert done == sorted(done)
    assert done[-1] == 1.0


# -- several problems --------------------------------------------------------------------------


def test_a_line_says_which_problem_it_is_about(moving):
    drawing, out = bar(problems=3, every_round=True)
    with drawing:
        for problem in range(3):
            drawing(record(round=1, problem=problem))
    heads = [" ".join(line.split()[:4]) for line in out.getvalue().splitlines()]
    assert heads == ["pair 1/3 round 1", "pair 2/3 round 1", "pair 3/3 round 1"]
    for field in FIELDS[1:-1]:
        assert field in out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_live_line_says_which_problem_it_is_about(width):
    drawing, _ = bar(problems=45, width=width, console={"force_terminal": True})
    with drawing:
        drawing(record(problem=6))
        text = drawing._line().plain
    assert text.startswith("pair 7/45 round 9 ")
    assert max(map(len, text.splitlines()[:1])) <= width


def test_every_problem_fills_its_part_of_the_bar(TOL):
    """From where its own violation began; and the bar never goes back."""
    drawing, _ = bar(problems=4, console={"force_terminal": True})
    seen = {
        (0, 1.0): 0.0, (0, 1e-3): 1 / 4, (1, 1e-1): 1 / 4, (1, 1e-2): 1.5 / 4, (1, 1e-4): 2 / 4,
        (3, math.inf): 3 / 4, (2, 1e-3): 3 / 4, (3, 2.0): 3 / 4, (3, 1e-3): 1.0,
    }  # fmt: skip
    with drawing:
        for (problem, violation), done in seen.items():
            drawing(record(problem=problem, violation=violation))
            assert drawing._done == pytest.approx(done, abs=TOL.exact)


def test_an_observer_of_several_problems(capsys):
    with observer(2, 1e-3, 3) as observe:
        observe(record(problem=1))
    assert observe.bar.problems == 3
    assert capsys.readouterr().err.startswith("pair 2/3 round 9  ")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_of_several_classes_shows_and_logs_every_pair(n_jobs, capsys, caplog):
    X, y = checkerboard(300, random_state=0)
    with caplog.at_level(logging.DEBUG, "widestreet"):
        model = SVC(gamma=2.0, n_jobs=n_jobs, verbose=2).fit(X, y + (X[:, 0] > 2))
    logged = [r.record for r in caplog.records if hasattr(r, "record")]
    assert_same_rounds(sorted(logged, key=lambda r: (r.problem, r.round)), model.trace_)
    assert {r.problem for r in logged} == {0, 1, 2, 3, 4, 5}
    lines = capsys.readouterr().err.splitlines()
    assert sorted(line.split()[1] for line in lines if " round 1 " in line) == [
        f"{p}/6" for p in range(1, 7)
    ]


# -- its parts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "now", "tol", "expected"),
    [
        (1.0, 1.0, 1e-4, 0.0),
        (1.0, 1e-2, 1e-4, 0.5),
        (1.0, 1e-4, 1e-4, 1.0),
        (1.0, 0.0, 1e-4, 1.0),
        (1.0, 3.0, 1e-4, 0.0),
        (1e-5, 1e-5, 1e-4, 1.0),
        (math.nan, 1.0, 1e-4, 0.0),
        (math.inf, 1.0, 1e-4, 0.0),
        (1.0, math.inf, 1e-4, 0.0),
        (1.0, math.nan, 1e-4, 0.0),
    ],
)
def test_fraction(first, now, tol, expected, TOL):
    assert fraction(first, now, tol) == pytest.approx(expected, abs=TOL.exact)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"), (7, "7"), (9_999, "9,999"), (10_000, "10.0k"), (999_949, "999.9k"),
        (999_950, "1.0M"), (12_345_678, "12.3M"), (999_950_000, "1.0G"), (10**13, "10000.0G"),
    ],
)  # fmt: skip
def test_count(number, expected):
    assert count(number) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0.0 s"), (59.94, "59.9 s"), (59.96, "0:01:00"), (60.0, "0:01:00"),
        (3599.6, "1:00:00"), (86_400.0, "24:00:00"),
    ],
)  # fmt: skip
def test_clock(seconds, expected):
    assert clock(seconds) == expected


def test_describe_survives_what_a_first_round_may_hold():
    fields = describe(record(violation=math.inf, gap=math.nan), 1e-3)
    assert fields[0] == "round 9"
    assert "violation inf (tol 0.001)" in fields


@pytest.mark.usefixtures("moving")
def test_the_last_examination_is_announced_at_once():
    """Also less than a second after the last line."""
    drawing, out = bar()
    with drawing:
        drawing(record(round=1))
        drawing(record(round=2))
        drawing(record(round=2, phase="certificate"))
    first, last = out.getvalue().splitlines()
    assert first.startswith("round 1")
    assert last.startswith("certifying  SVs 2,697")
