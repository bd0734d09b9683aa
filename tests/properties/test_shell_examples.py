"""The examples of docs/command-line.md are run, one after the other in one folder."""

from __future__ import annotations

import doctest
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from support.checkout import ROOT
from widestreet.cli import COMMANDS, main

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def shell_examples(text: str) -> list[tuple[str, str]]:
    """Return the commands of a block, each with what it prints."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def printed_by(command: str) -> str:
    """Run a command and return what it prints to both streams."""
    name, *arguments = shlex.split(command)
    assert name == "widestreet"
    stream = StringIO()
    with redirect_stdout(stream), redirect_stderr(stream):
        main(arguments)
    return stream.getvalue()


def test_every_example_prints_what_the_page_says(tmp_path, monkeypatch):
    for package in ("pandas", "skops"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    checker, count = doctest.OutputChecker(), 0
    for kind, text in BLOCK.findall(PAGE):
        if kind == "python":
            exec(text, {})
            continue
        for command, expected in shell_examples(text):
            found = printed_by(command)
            assert checker.check_output(expected, found, FLAGS), f"{command}\n{found}"
            count += 1
    assert count == 8
    assert (tmp_path / "risk.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_every_command_is_in_the_table():
    table = PAGE.partition("\n## ")[0]
    for command in COMMANDS:
        assert re.search(rf"`(widestreet )?{command.__name__.rpartition('.')[2]}\b", table)
