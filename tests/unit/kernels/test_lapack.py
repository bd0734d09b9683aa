"""The core's LAPACK is there whatever public name is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

SOLVE = """
import numpy as np
factor = Factor()
factor.load(2.0 * np.eye(2))
x, m = np.empty(2), np.empty(1)
factor.solve_bordered(np.array([1.0, 3.0]), np.zeros(1), np.zeros(2, np.uint8), 0.0, x, m)
assert np.allclose(x, [-0.25, 0.25]), x
"""


@pytest.mark.parametrize(
    "imports",
    [
        "from widestreet import SVC; from widestreet._core import Factor",
        "import widestreet.online; from widestreet._core import Factor",
    ],
)
def test_no_order_of_imports_matters(imports):
    run = subprocess.run(
        [sys.executable, "-c", imports + SOLVE], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
