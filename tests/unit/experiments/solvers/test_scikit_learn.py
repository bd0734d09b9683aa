"""scikit-learn in the race."""

from __future__ import annotations

from support.experiments import check_solver


def test_its_solutions_are_certified():
    check_solver("scikit-learn")
