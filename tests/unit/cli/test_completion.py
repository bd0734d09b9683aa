"""Scripts that complete the command in a shell."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from widestreet.cli import COMMANDS, main, make_parser
from widestreet.cli.completion import commands_of


def script(shell, capsys):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_all_commands_and_options_are_known():
    found = {one.name: one for one in commands_of(make_parser())}
    assert set(found) == {command.__name__.rpartition(".")[2] for command in COMMANDS}
    options = {name: option for option in found["fit"].options for name in option.names}
    assert options["--estimator"].choices[:2] == ("svc", "nusvc")
    assert not options["--tune"].takes_value
    assert options["--target"].takes_value
    assert found["completion"].values == ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_accept_their_script(shell, capsys, tmp_path):
    text = script(shell, capsys)
    assert all(one.name in text for one in commands_of(make_parser()))
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(text)
    done = subprocess.run([shell, "-n", str(tmp_path / "script")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["widestreet", "fi"], ["fit"]),
        (["widestreet", "completion", ""], ["-h", "--help", "bash", "zsh", "fish"]),
        (["widestreet", "fit", "rows.csv", "--estimator", "nus"], ["nusvc", "nusvr"]),
        (["widestreet", "fit", "--tu"], ["--tune"]),
        (["widestreet", "report", "m.street", "ro"], []),
    ],
)
def test_bash_completes(words, expected, capsys, tmp_path):
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    (tmp_path / "script").write_text(script("bash", capsys))
    quoted = " ".join(f"'{word}'" for word in words)
    program = (
        f"source {tmp_path / 'script'}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
        '_widestreet; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected


def test_fish_completes(capsys, tmp_path):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    (tmp_path / "script").write_text(script("fish", capsys))
    program = f"source {tmp_path / 'script'}; complete -C 'widestreet fit --estimator nus'"
    done = subprocess.run(["fish", "-c", program], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["nusvc", "nusvr"]
