"""`widestreet race`: its arguments reach the race."""

from __future__ import annotations

import pytest

from widestreet._experiments.race import command
from widestreet.cli import main


@pytest.fixture
def seen(monkeypatch) -> list:
    """The options that the race was started with."""
    options: list = []
    monkeypatch.setattr(command, "main", lambda one: options.append(one) or 0)
    return options


def test_arguments_reach_the_race(seen):
    words = "race --quick --data a --data b --solver c --limit 2.5 --note slow --disturbed"
    assert main(words.split()) == 0
    assert (seen[0].data, seen[0].solver) == (["a", "b"], ["c"])
    assert (seen[0].limit, seen[0].note) == (2.5, "slow")
    assert seen[0].quick
    assert seen[0].disturbed


def test_a_limit_is_a_number(seen, capsys):
    with pytest.raises(SystemExit) as end:
        main(["race", "--limit", "soon"])
    assert end.value.code == 2
    assert "--limit" in capsys.readouterr().err
    assert not seen
