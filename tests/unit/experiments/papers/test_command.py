"""The command `widestreet reproduce`."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits

from support.experiments import Script, parsed
from widestreet._experiments.papers import command
from widestreet._experiments.papers.catalogue import PAPERS
from widestreet._src import environment
from widestreet.cli import main


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """No real data, wherever they may be, and no threads that spin."""
    monkeypatch.delenv(environment.DATA, raising=False)
    monkeypatch.delenv(environment.DOWNLOAD, raising=False)
    with threadpool_limits(1):
        yield


@pytest.mark.parametrize("name", PAPERS)
def test_a_report_without_data_says_what_is_missing(name, tmp_path, capsys):
    paper = PAPERS[name]
    wanted = [n for n, problem in paper.problems().items() if problem.files]
    options = parsed("reproduce", name, "--quick", "--out", str(tmp_path))
    assert command.main(options, Script()) == 0
    text, said = (tmp_path / "report.md").read_text(), capsys.readouterr().out
    for problem in wanted:
        assert f"`{problem}` was not run: needs" in text
        assert f"{problem} is left out" in said
    assert "A quick run" in text


def test_an_unknown_paper(capsys):
    assert main(["reproduce", "novel"]) == 2
    message = capsys.readouterr().err
    assert all(name in message for name in ("novel", *PAPERS))
    assert main(["reproduce"]) == 2
    message = capsys.readouterr().err
    assert all(name in message for name in PAPERS)


def test_the_list(capsys):
    assert main(["reproduce", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(f"{name}: " in said for name in PAPERS)
    assert environment.DATA in said
    assert main(["reproduce", "prsvm", "--list", "--quick"]) == 0
    said = capsys.readouterr().out
    assert "two-gaussians" in said
    assert "isvm:" not in said


def test_nothing_to_report_on(tmp_path, capsys):
    assert main(["reproduce", "isvm", "--no-run", "--out", str(tmp_path)]) == 2
    assert "nothing to report on" in capsys.readouterr().err
    assert main(["reproduce", "isvm", "--threads", "0", "--out", str(tmp_path)]) == 2


def test_an_interrupted_run_continues(tmp_path, capsys):
    def interrupted(one):
        raise KeyboardInterrupt

    options = parsed("reproduce", "prsvm", "--quick", "--out", str(tmp_path), "--threads", "1")
    with pytest.raises(KeyboardInterrupt):
        command.main(options, Script(interrupted))
    assert "continues from here" in capsys.readouterr().out
    script = Script()
    assert command.main(options, script) == 0
    assert script.asked
    again = Script()
    assert command.main(options, again) == 0
    assert again.asked == []


def test_the_page_and_what_is_beside_it(tmp_path, capsys):
    target = tmp_path / "docs" / "prsvm.md"
    words = ["prsvm", "--quick", "--out", str(tmp_path / "out"), "--report", str(target)]
    assert command.main(parsed("reproduce", *words), Script()) == 0
    assert target.exists()
    assert (target.parent / "prsvm" / "table-1.csv").exists()
    assert str(target) in capsys.readouterr().out
    assert command.main(parsed("reproduce", *words, "--no-run"), Script(pytest.fail)) == 0
