"""The command `widestreet race`."""

from __future__ import annotations

import pytest

from widestreet._experiments.harness.discovery import solvers, tasks
from widestreet._experiments.race import command
from widestreet._experiments.race.plan import Leg, Plan
from widestreet._src import environment
from widestreet.cli import main


def test_the_command_lists(capsys):
    assert main(["race", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in (*solvers(), *tasks()))


def test_the_command_races_and_reports(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv(environment.DATA, raising=False)
    tiny = (Leg("twonorm", 200, (1e-3,)), Leg("ijcnn1"))
    monkeypatch.setattr(command, "quick", lambda: Plan("quick", tiny, small=(), seeds=0))
    out, page = tmp_path / "out", tmp_path / "page.md"
    chosen = ["--solver", "widestreet", "--solver", "null", "--note", "a quiet day"]
    options = ["race", "--quick", "--out", str(out), "--threads", "1", *chosen]
    assert main([*options, "--report", str(page)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "ijcnn1 is left out" in said
    assert "| twonorm | 200 |" in said
    assert "a quiet day" in page.read_text()
    assert {"report.md", "results.csv", "results.json", "machine.json", "records"} <= {
        path.name for path in out.iterdir()
    }
    monkeypatch.setattr(command, "run", None)  # nothing is run
    assert main([*options, "--no-run"]) == 0


def test_small_data_and_imports_are_measured_once(tmp_path, monkeypatch):
    asked = []

    class Silent:
        left_out = 0

        def __init__(self, experiment, store, *rest, **options):
            self.store = store

        def record(self, one):
            asked.append(one.method.name)

    monkeypatch.setattr(command, "Runner", Silent)
    monkeypatch.setattr(command, "quick", lambda: Plan("quick", (), ("widestreet",), 1, 0))
    monkeypatch.setattr(command.small, "imports", lambda threads, n: {"imports": {}, "all": asked})
    options = ["race", "--quick", "--out", str(tmp_path), "--solver", "widestreet"]
    assert main(options) == 0
    assert asked == ["widestreet"]
    assert command.Session(_parsed(options), "").store.get(command.IMPORTS) is not None


def test_seeds_and_instruction_sets_are_drawn(tmp_path, capsys, monkeypatch):
    legs = (Leg("twonorm", 200, (1e-3,)), Leg("twonorm", 300, (1e-3,)))
    monkeypatch.setattr(command, "quick", lambda: Plan("quick", legs, small=(), seeds=0))
    options = ["race", "--quick", "--out", str(tmp_path), "--threads", "1"]
    options += ["--solver", "widestreet", "--seeds", "2", "--instruction-set", "portable"]
    assert main(options) == 0
    page = (tmp_path / "report.md").read_text()
    assert "| twonorm | 200 | portable | 2 |" in page
    assert "| twonorm | 300 | portable |" not in page
    assert "| twonorm | 300 |" in page


def _parsed(words):
    from support.experiments import parsed

    return parsed(*words)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data", "nobody"], "the full race has no nobody; it has "),
        (["--quick", "--data", "kdd99"], "the quick race has no kdd99"),
        (["--solver", "nobody"], "has no nobody"),
        (["--threads", "0"], "--threads must be"),
        (["--no-run"], "nothing to report on"),
    ],
    ids=str,
)
def test_bad_options_end_with_a_message(options, message, capsys, tmp_path):
    assert main(["race", "--out", str(tmp_path / "out"), *options]) == 2
    assert message in capsys.readouterr().err
