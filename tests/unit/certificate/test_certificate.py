"""When a point is good enough: violation, gap and rounding; and that the best point is returned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import widestreet as ws
from support.noisy_classes import noisy
from widestreet._src.certificate import Certificate, Examination, GapEstimate
from widestreet._src.problems.goal import Goal
from widestreet._src.status import Status

pytestmark = pytest.mark.numeric


def found(**changes) -> Examination:
    """An examination of a point that is nearly optimal."""
    figures = {"primal": 10.001, "dual": 10.0, "violation": 1e-4, "infeasibility": 0.0}
    rest = {"rounding": 1e-9, "largest_gap": 0.0, "mass": 0.0, "convex": True}
    return Examination(**{"rows": 3, "bias": np.zeros(1)} | figures | rest | changes)


# -- what "optimal" means ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "optimal"),
        ({"violation": 2e-3}, "stalled"),
        ({"rounding": 0.95e-3}, "stalled"),
        ({"rounding": np.inf}, "stalled"),
        ({"primal": 10.2}, "stalled"),
        ({"primal": 9.8}, "stalled"),  # below the dual by more than the gap allowed
        ({"primal": 10.2, "convex": False}, "optimal"),
        ({"infeasibility": 1e-6}, "stalled"),
        ({"largest_gap": 0.09}, "optimal"),
        ({"largest_gap": 0.11}, "stalled"),
        ({"largest_gap": np.inf, "convex": False}, "optimal"),
    ],
)
def test_all_conditions_are_needed(changes, status):
    assert found(**changes).certificate("optimal", Goal(1e-3, 0.01)).status == status


def test_the_gap_may_be_left_out_of_it():
    point = found(primal=100.0)
    assert point.certificate("optimal", Goal(1e-3)).status == "optimal"
    assert point.certificate("optimal", Goal(1e-3, 0.95)).status == "optimal"
    assert point.certificate("optimal", Goal(1e-3, 0.5)).status == "stalled"


def test_an_objective_of_zero_has_no_relative_gap():
    """nu machines without a margin: then the gap is compared with tol, as the violation is."""
    point = found(primal=1e-6, dual=-1e-6, mass=10.0)
    assert point.certificate("optimal", Goal(1e-3, 0.01)).relative_gap > 1
    assert point.certificate("optimal", Goal(1e-3, 0.01)).status == "optimal"
    assert replace(point, mass=0.0).certificate("optimal", Goal(1e-3, 0.01)).status == "stalled"


@pytest.mark.parametrize(
    ("changes", "least", "most"),
    [
        ({"violation": 2e-3}, 1e-3, 1e-3),
        ({"violation": 9e-4, "rounding": 6e-4}, 0.39e-3, 0.41e-3),
        ({"violation": 9e-4, "rounding": 0.999e-3}, 0.1e-3, 0.1e-3),
        ({"violation": 2e-3, "rounding": 1.0}, 1e-3, 1e-3),  # as far as the arithmetic goes
        ({"primal": 20.0}, 1e-7, 0.5e-4),
        ({"primal": 10.11}, 1e-7, 0.5e-4),
        ({"violation": np.inf}, 0.99e-3, 1e-3),
    ],
)
def test_what_the_engine_is_to_reach_next(changes, least, most):
    assert least <= found(**changes).next_violation(Goal(1e-3, 0.01)) <= most


@pytest.mark.parametrize(
    "changes", [{}, {"rounding": 1.0}, {"violation": 0.0, "primal": 20.0}, {"convex": False}]
)
def test_when_the_engine_has_nothing_left_to_gain(changes):
    assert found(**changes).next_violation(Goal(1e-3, 0.01)) is None


# -- rows and words ----------------------------------------------------------------------------


def test_a_point_that_was_not_examined():
    certificate = Certificate.unexamined(Status.INTERRUPTED, 1.0, 1e-3)
    assert certificate.n_rows == 0
    assert certificate.status == "interrupted"
    assert certificate.gap == certificate.kkt_violation == np.inf


def test_rows_of_one_class_need_no_proof():
    certificate = Certificate.trivial(5, 1e-3)
    assert (certificate.status, certificate.n_rows, certificate.tol) == ("optimal", 5, 1e-3)
    assert certificate.gap == certificate.kkt_violation == certificate.rounding == 0.0


def test_printing_a_certificate():
    text = str(ws.SVC().fit(*noisy(100)).certificate_)
    assert text.startswith("optimal: 100 rows examined, KKT violation")
    assert len(text) < 200
    assert "\n" not in text


def test_an_estimate_is_no_bound():
    estimate = GapEstimate(0.25, (0.2, 0.3), 1024, 48.6)
    one = Certificate.unexamined(Status.TIME_LIMIT, 3.5, 1e-3, estimate=estimate)
    assert one.relative_gap == one.gap == float("inf")
    assert (one.n_rows, one.estimated_gap, one.estimated_gap_interval) == (0, 0.25, (0.2, 0.3))
    assert str(one).startswith("time_limit: no row examined")
    assert "estimated from 1,024 rows: 0.25 (95 % interval 0.2 to 0.3)" in str(one)
    none = Certificate.unexamined(Status.TIME_LIMIT, 3.5, 1e-3)
    assert none.estimated_gap is none.estimated_gap_interval is None
    assert "estimate" not in str(none)


def test_an_optimum_of_zero_has_no_relative_gap(rng):
    X = rng.normal(size=(50, 3))
    model = ws.OneClassSVM(kernel="linear", nu=0.5).fit(np.concatenate([X, -X]))
    zero = replace(model.certificate_, relative_gap=1.0, gap=1e-11, status=Status.OPTIMAL)
    assert "duality gap 1e-11 (no relative one: the optimum is zero up to tol)" in str(zero)
    assert "relative duality gap 1;" in str(replace(zero, status=Status.STALLED))
