"""The core refuses what it cannot use: an error, never a copy, never a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import refusals

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """What each case led to, in processes of their own."""
    script = Path(refusals.__file__)
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("name", refusals.CASES)
def test_refused(outcomes, name):
    assert outcomes[name].startswith(("TypeError: ", "ValueError: ", "IndexError: "))


@pytest.mark.parametrize("name", refusals.SOUND)
def test_accepted(outcomes, name):
    assert outcomes[name] == "accepted"
