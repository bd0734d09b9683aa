"""The tolerance table, fixtures that many files share, and the hypothesis profiles."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from problems import Problem, generate

settings.register_profile(
    "dev", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile("ci" if "CI" in os.environ else "dev")


@dataclass(frozen=True)
class Tolerances:
    """Every tolerance of the tests, and why it is what it is."""

    # -- solutions -----------------------------------------------------------------------------
    objective_rel: float = 1e-8  # dual objective against the reference QP, asked for tol = 1e-8
    feasibility: float = 1e-12  # box and sum residuals relative to the boxes: rounding only
    violation: float = 1e-8  # the tol asked for where a solution has to be as exact as possible
    strategies_rel: float = 1e-6  # objectives of two strategies, each stopped at tol = 1e-4
    decision: float = 1e-7  # scores of two equivalent problems (merged rows, weights, order)
    sklearn_decision: float = 1e-7  # times max(10, sum|alpha|): LIBSVM keeps Q in float32
    monotone: float = 1e-12  # a dual objective may fall by this, relative: rounding of its sum

    # -- kernels and scans ---------------------------------------------------------------------
    kernel_float64: float = 1e-13  # relative to max(1, |K|): some ulps, times gamma |x|^2
    kernel_float32: float = 5e-6  # the same with 24 bits
    scan_float64: float = 1e-13  # relative to sum |coef| max(1, |K|)
    scan_float32: float = 5e-6  # the same; its float32 partial sums are added up in float64
    exp_float32: float = 2.5e-7  # the vectorised exponential, relative: two ulps of float32
    exp_float64: float = 1e-15  # the same in float64, some ulps

    # -- twins: a native function against its NumPy version, the same arithmetic reordered ---------
    twin: float = 1e-10

    # -- the references against themselves -----------------------------------------------------
    exact: float = 1e-14  # two ways to write one float64 expression
    qp_gap: float = 1e-10  # the QP's own duality gap, relative to its objective
    qp_cancelled: float = 1e-12  # ... to the size of its terms, where they cancel to about 0
    strong_duality: float = 1e-8  # P - D at the optimum, relative: beta is rounded to float64
    smo_rel: float = 1e-9  # the literal SMO stopped at smo_tol, against the QP
    smo_tol: float = 1e-9


TOL = Tolerances()


@pytest.fixture(scope="session", name="TOL")
def tolerance_table() -> Tolerances:
    """The one tolerance table as a fixture; ``from conftest import TOL`` is the same object."""
    return TOL


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that starts afresh in every test."""
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def problems() -> list[Problem]:
    """The 200 generated problems."""
    return generate()


@pytest.fixture(scope="session")
def convex_problems(problems: list[Problem]) -> list[Problem]:
    """Those of the 200 whose kernel matrix is positive semidefinite: objectives can be compared."""
    return [problem for problem in problems if problem.convex]
