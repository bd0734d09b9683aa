"""What the commands share: folders, threads, interruptions, a line for each measurement."""

from __future__ import annotations

import json

import pytest
from rich.console import Console

from support.experiments import answer, parsed, raced
from widestreet._experiments.harness.command import MACHINE, Lines, Session
from widestreet._src import environment


def session(tmp_path, *words) -> Session:
    return Session(parsed("race", "--out", str(tmp_path), *words), "folder")


def test_the_folder_is_named_after_the_experiment():
    assert str(Session(parsed("race"), "folder").out) == "folder"
    assert str(Session(parsed("race", "--quick"), "folder").out) == "folder-quick"


def test_bad_options(tmp_path):
    with pytest.raises(ValueError, match="--threads"):
        session(tmp_path, "--threads", "0")
    with pytest.raises(ValueError, match="nothing to report on"):
        session(tmp_path, "--no-run")


def test_downloads_are_allowed_if_asked(tmp_path, monkeypatch):
    monkeypatch.setenv(environment.DOWNLOAD, "0")
    session(tmp_path)
    assert not environment.downloads_allowed()
    session(tmp_path, "--download")
    assert environment.downloads_allowed()


def test_a_report_without_a_run_has_the_threads_of_the_run(tmp_path):
    made = session(tmp_path, "--threads", "1")
    assert made.run(lambda: 0, lambda page, beside: []) == 0
    described = json.loads((tmp_path / MACHINE).read_text())
    (tmp_path / MACHINE).write_text(json.dumps(described | {"threads": "7"}))
    again = session(tmp_path, "--no-run")
    assert again.threads == 7
    again.run(lambda: pytest.fail("it runs"), lambda page, beside: [])


def test_an_interrupted_run_is_reported_on(tmp_path, capsys):
    def work():
        raise KeyboardInterrupt

    pages = []
    with pytest.raises(KeyboardInterrupt):
        session(tmp_path).run(work, lambda page, beside: pages.append(page) or [answer()])
    assert [page.name for page in pages] == ["report.md"]
    assert "continues from here" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "results.json").read_text())["records"]) == 1


def test_what_is_missing_is_left_out(tmp_path, capsys):
    assert session(tmp_path).leave_out({"a": None, "b": "no data"}) == ["a"]
    assert "b is left out: no data" in capsys.readouterr().out


def test_lines(capsys):
    lines, one = Lines(Console(width=200)), raced()
    lines(one, None)
    lines(one, answer(one))
    said = capsys.readouterr().out
    assert one.title in said
    assert "accuracy 0.9000" in said
