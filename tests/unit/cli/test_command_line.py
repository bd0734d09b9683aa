"""The command line: its help, its errors and its exit status."""

from __future__ import annotations

import warnings
from importlib.metadata import version

import pytest

import widestreet
from widestreet.cli import COMMANDS, demo, main


def words(text: str) -> str:
    """One line, single spaces: however wide the terminal was."""
    return " ".join(text.split())


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"widestreet {version('widestreet')}\n"
    assert widestreet.__version__ == version("widestreet")


@pytest.mark.parametrize(
    "arguments",
    [["--help"], *([command.__name__.rpartition(".")[2], "--help"] for command in COMMANDS)],
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


def test_an_interrupt(monkeypatch, capsys):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "widestreet: interrupted\n"


def test_a_warning_is_one_line_without_a_place(monkeypatch, capsys):
    def warning(options):
        warnings.warn("the data are odd", UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(demo, "run", warning)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["demo"]) == 0
    assert capsys.readouterr().err == "widestreet: warning: the data are odd\n"
