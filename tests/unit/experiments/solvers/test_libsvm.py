"""LIBSVM in the race."""

from __future__ import annotations

import pytest

from support.experiments import check_solver


def test_its_solutions_are_certified():
    pytest.importorskip("libsvm.svm")  # before its threads are limited
    check_solver("libsvm")
