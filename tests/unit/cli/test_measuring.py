"""The options that `widestreet race` and `widestreet reproduce` share."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from widestreet.cli import measuring


@pytest.fixture
def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    measuring.configure(made, "some-folder")
    return made


def test_nothing_is_asked_for_by_default(parser):
    assert not any(vars(parser.parse_args([])).values())


def test_every_option_is_read(parser):
    words = "--quick --list --threads 3 --out a --report b.md --fresh --no-run --download"
    found = vars(parser.parse_args(words.split()))
    assert (found["threads"], found["out"], found["report"]) == (3, Path("a"), Path("b.md"))
    assert all(found[name] is True for name in ("quick", "list", "fresh", "no_run", "download"))
    assert len(found) == 8


def test_the_help_names_the_folder(parser):
    assert "some-folder" in parser.format_help()
