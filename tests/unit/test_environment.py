"""The instruction set that the environment asks for, or the best one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from widestreet import _core
from widestreet._src import environment

SETS = _core.instruction_sets()


@pytest.fixture(autouse=True)
def restored():
    """Use the present set again after the test."""
    before = _core.instruction_set()
    yield
    _core.force_instruction_set(before)


def test_the_portable_set_is_always_there():
    assert SETS[-1] == "portable"
    assert len(set(SETS)) == len(SETS)


@pytest.mark.parametrize("isa", SETS)
def test_the_set_asked_for_is_used(isa, monkeypatch):
    monkeypatch.setenv("WIDESTREET_ISA", isa)
    environment._choose_instruction_set()
    assert _core.instruction_set() == isa


@pytest.mark.parametrize("isa", ["", "mmx", "AVX2"])
def test_no_other_set_is(isa, monkeypatch):
    before = _core.instruction_set()
    monkeypatch.setenv("WIDESTREET_ISA", isa)
    if isa:
        said = rf"WIDESTREET_ISA must be .*\({', '.join(SETS)}\) or unset, got '{isa}'"
        with pytest.raises(ValueError, match=said):
            environment._choose_instruction_set()
    else:
        environment._choose_instruction_set()
    assert _core.instruction_set() == before
    with pytest.raises(ValueError, match="'mmx' is not available"):
        _core.force_instruction_set("mmx")
    assert _core.instruction_set() == before


@pytest.mark.parametrize("isa", [None, "portable", "mmx"])
def test_the_package_reads_the_variable_when_it_is_imported(isa):
    others = {name: value for name, value in os.environ.items() if name != "WIDESTREET_ISA"}
    code = "import widestreet; from widestreet import _core; print(_core.instruction_set())"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=others | ({"WIDESTREET_ISA": isa} if isa else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    if isa == "mmx":
        assert run.returncode != 0
        assert "ValueError: WIDESTREET_ISA must be" in run.stderr
    else:
        assert run.stdout.strip() == (isa or SETS[0])
