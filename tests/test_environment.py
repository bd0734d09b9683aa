"""The instruction set that the environment asks for, or the best one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from widestreet import _core

CODE = "import widestreet; print(widestreet._core.instruction_set())"


def imported(isa: str | None) -> subprocess.CompletedProcess[str]:
    """Import the package in a process of its own and print the instruction set in use."""
    environment = {name: value for name, value in os.environ.items() if name != "WIDESTREET_ISA"}
    if isa is not None:
        environment["WIDESTREET_ISA"] = isa
    command = [sys.executable, "-c", CODE]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("isa", [None, "", *_core.instruction_sets()])
def test_the_set_asked_for_is_in_use_or_the_best(isa):
    assert imported(isa).stdout.strip() == (isa or _core.instruction_sets()[0])


def test_the_portable_set_is_always_there():
    sets = _core.instruction_sets()
    assert sets[-1] == "portable"
    assert len(set(sets)) == len(sets)


def test_an_unavailable_set_is_refused_with_the_available_ones():
    wrong = imported("mmx")
    assert wrong.returncode != 0
    message = wrong.stderr.strip().splitlines()[-1]
    assert message.startswith("ValueError: WIDESTREET_ISA must be")
    assert message.endswith(f"({', '.join(_core.instruction_sets())}) or unset, got 'mmx'")


def test_a_set_that_is_refused_leaves_the_present_one():
    before = _core.instruction_set()
    with pytest.raises(ValueError, match="'mmx' is not available"):
        _core.force_instruction_set("mmx")
    assert _core.instruction_set() == before
