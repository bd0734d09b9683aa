"""The command that writes a page."""

from __future__ import annotations

import webbrowser

import numpy as np
import pytest

import widestreet as ws
from support.machines import data
from support.pages import Page
from widestreet.cli import main


@pytest.fixture
def folder(tmp_path):
    X, y = data("svc", 60)
    ws.SVC().fit(X, y).save(tmp_path / "m.street")
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    return tmp_path


def page_of(path):
    return Page.of(path.read_text(encoding="utf-8"))


def test_a_model_alone(folder, capsys):
    assert main(["report", str(folder / "m.street")]) == 0
    assert capsys.readouterr().out == f"{folder / 'm.html'}\n"
    proved = ws.load(folder / "m.street").certificate_
    assert page_of(folder / "m.html").numbers["certificate.gap"] == proved.gap


def test_training_rows_and_test_rows(folder):
    rows, page = str(folder / "rows.npy"), folder / "page.html"
    given = [rows, "--target", "-1", "--test", rows, "--output", str(page)]
    assert main(["report", str(folder / "m.street"), *given]) == 0
    numbers = page_of(page).numbers
    X, y = data("svc", 60)
    assert numbers["test.accuracy"] == ws.load(folder / "m.street").score(X, y)
    assert "leave_one_out.accuracy" in numbers


def test_the_browser_is_asked(folder, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert main(["report", str(folder / "m.street"), "--open"]) == 0
    assert len(opened) == 1


def test_a_missing_target(folder, capsys):
    assert main(["report", str(folder / "m.street"), str(folder / "rows.npy")]) == 2
    assert capsys.readouterr().err


def test_the_place_of_the_page_is_checked_first(tmp_path, capsys):
    assert main(["report", "no.street", "-o", str(tmp_path / "no" / "page.html")]) == 2
    assert "there is no directory" in capsys.readouterr().err
