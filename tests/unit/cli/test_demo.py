"""The command line: what it prints, what it draws, how it ends."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import widestreet
from widestreet import SVC
from widestreet.cli import demo, main

PNG = b"\x89PNG\r\n\x1a\n"
QUICK = ("--rows", "2e3", "--test-rows", "500")


def words(text: str) -> str:
    """One line, single spaces: however wide the terminal was."""
    return " ".join(text.split())


# -- widestreet --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["2000", "2_000", "2e3", "2000.0"])
def test_numbers_of_rows(text):
    assert demo._positive(text) == 2000


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
        "computed over all 2,000 rows",
        "support vectors",
        "test accuracy",
        "kernel values",
        "The decision boundary is drawn in",
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
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["demo", *QUICK, "--out", str(tmp_path / "street.png")]) == 1
    out, err = capsys.readouterr()
    assert "status iteration_limit" in words(out)
    assert "widestreet: warning: training stopped with status 'iteration_limit'" in err


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
