"""Set-up before the tests are collected."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import conftest


@pytest.mark.parametrize("error", ["ImportError", "OSError"])
def test_a_broken_installation_of_torch_is_like_none(tmp_path, error):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(f"raise {error}('a library is missing')\n")
    path = os.pathsep.join([str(tmp_path), str(Path(conftest.__file__).parent)])
    clean = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    program = "import os, conftest; print('TRITON_INTERPRET' in os.environ)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=clean | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
