"""The command line: what it prints, what it draws, how it ends."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import widestreet
from widestreet import SVC
from widestreet._experiments.papers.catalogue import PAPERS
from widestreet.cli import COMMANDS, demo, main

PNG = b"\x89PNG\r\n\x1a\n"
QUICK = ("--rows", "2e3", "--test-rows", "500")


def words(text: str) -> str:
    """One line, single spaces: however wide the terminal was."""
    return " ".join(text.split())


# -- widestreet --------------------------------------------------------------------------------


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"widestreet {version('widestreet')}\n"
    assert widestreet.__version__ == version("widestreet")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["demo", "--help"], ["race", "--help"], ["reproduce", "--help"]]
)
def test_help(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0
    text = words(capsys.readouterr().out)
    assert "usage: widestreet" in text
    if len(arguments) == 1:
        assert all(command.SUMMARY in text for command in COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["--unknown"],
        ["demo", "--rows", "0"],
        ["demo", "--rows", "-5"],
        ["demo", "--rows", "2.5"],
        ["demo", "--rows", "many"],
        ["demo", "--rows", "nan"],
        ["demo", "--rows", "inf"],
        ["demo", "--test-rows", "1e400"],
        ["demo", "--tol", "small"],
        ["demo", "--out", "no/such/folder/street.png"],
        ["race", "--threads", "few"],
        ["race", "--slow"],
        ["reproduce", "isvm", "prsvm"],
        ["reproduce", "--threads", "few"],
    ],
    ids=" ".join,
)
def test_wrong_arguments(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "usage: widestreet" in err


@pytest.mark.parametrize("text", ["2000", "2_000", "2e3", "2000.0"])
def test_numbers_of_rows(text):
    assert demo._positive(text) == 2000


def test_an_interrupt(monkeypatch, capsys):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "widestreet: interrupted\n"


SCRIPT = str(Path(sys.executable).with_name("widestreet"))


@pytest.mark.parametrize("command", [[sys.executable, "-m", "widestreet"], [SCRIPT]], ids=len)
def test_as_a_module_and_as_a_script(command):
    run = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"widestreet {version('widestreet')}\n"


# -- widestreet demo ---------------------------------------------------------------------------


def test_demo(tmp_path, capsys):
    picture = tmp_path / "street.png"
    assert main(["demo", *QUICK, "--out", str(picture)]) == 0
    out, err = capsys.readouterr()
    for part in (
        "A checkerboard of 2,000 rows",
        "Certificate",
        "status optimal",
        "duality gap",
        "KKT violation",
        "recomputed over all 2,000 rows",
        "support vectors",
        "test accuracy",
        "kernel values",
        "The street is drawn in",
    ):
        assert part in words(out)
    assert "round 1" in err  # the bar
    assert picture.read_bytes().startswith(PNG)


def test_demo_without_matplotlib(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    picture = tmp_path / "street.png"
    assert main(["demo", *QUICK, "--out", str(picture)]) == 0
    assert 'pip install "widestreet[plot]"' in words(capsys.readouterr().out)
    assert not picture.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--rows", "1"],  # one row has one class
        ["demo", *QUICK, "--tol", "-1"],
        ["demo", *QUICK, "--tol", "nan"],
    ],
    ids=" ".join,
)
def test_bad_input_ends_with_a_message(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("widestreet: ")


def test_demo_that_is_not_certified(monkeypatch, tmp_path, capsys):
    """The exit status tells, whatever else happened."""

    class Hasty(SVC):
        def fit(self, X, y):
            self.max_iter = 3
            return super().fit(X, y)

    monkeypatch.setattr(widestreet, "SVC", Hasty)
    with pytest.warns(Warning, match="iteration_limit"):
        assert main(["demo", *QUICK, "--out", str(tmp_path / "street.png")]) == 1
    assert "status iteration_limit" in words(capsys.readouterr().out)


def test_the_demo_is_deterministic(tmp_path, capsys):
    def facts() -> list[str]:
        main(["demo", *QUICK, "--out", str(tmp_path / "street.png")])
        lines = capsys.readouterr().out.splitlines()
        return [line for line in lines if "time" not in line]

    assert facts() == facts()


def test_rows_of_the_demo_are_float32(monkeypatch, tmp_path):
    seen = {}

    class Spy(SVC):
        def fit(self, X, y):
            seen["dtype"] = X.dtype
            return super().fit(X, y)

    monkeypatch.setattr(widestreet, "SVC", Spy)
    main(["demo", *QUICK, "--out", str(tmp_path / "street.png")])
    assert seen["dtype"] == np.float32


def test_every_paper_is_named_in_the_help(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    said = capsys.readouterr().out
    assert all(name in said for name in PAPERS)
