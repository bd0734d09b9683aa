"""`python -m widestreet` is the command `widestreet`."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

SCRIPT = str(Path(sys.executable).with_name("widestreet"))


@pytest.mark.parametrize("command", [[sys.executable, "-m", "widestreet"], [SCRIPT]], ids=len)
def test_as_a_module_and_as_a_script(command):
    run = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"widestreet {version('widestreet')}\n"
