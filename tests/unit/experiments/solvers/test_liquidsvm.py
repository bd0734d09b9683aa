"""liquidSVM is listed with the reason why it cannot be compared."""

from __future__ import annotations

import pytest

from widestreet._experiments.harness.discovery import solvers


def test_it_says_why_it_is_absent():
    solver = solvers()["liquidSVM"]
    assert "offset" in solver.absent()
    for method in (solver.fit, solver.solution, solver.predict):
        with pytest.raises(ValueError, match="offset"):
            method(None, None)
