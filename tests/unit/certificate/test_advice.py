"""What a user is told about a fit: the words are graded by what was proved."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from widestreet._src.certificate import Certificate, GapEstimate, advice, worst
from widestreet._src.status import Status

pytestmark = pytest.mark.numeric


def certificate(status: str, violation: float) -> Certificate:
    return Certificate(2.0, 1.0, 1.0, 0.5, violation, Status(status), 8, 1e-3)


@pytest.mark.parametrize(
    ("given", "least", "words"),
    [
        ([("optimal", 1e-4), ("optimal", 9e-4), ("optimal", 0.0)], 1, None),
        ([("optimal", 1e-4), ("approximate", 0.5)], 1, None),
        ([("approximate", 0.5), ("stalled", 1e-2)], 1, r"'stalled' in 1 of 2 pairs.*scale the"),
        ([("time_limit", 0.1), ("optimal", 0.0), ("time_limit", 0.3)], 2, "in 2 of 3.*max_time"),
        (
            [("iteration_limit", 0.1)],
            0,
            r"'iteration_limit': violation 0.1 exceeds tol.*raise max_iter",
        ),
        ([("interrupted", 0.1), ("interrupted", np.inf)], 1, r"in 2 of 2.*let the fit run"),
    ],
)
def test_what_a_user_is_told(given, least, words):
    """Of the pair that is worst off, and how many failed."""
    certificates = [certificate(*one) for one in given]
    assert worst(certificates) is certificates[least]
    found = advice(certificates)
    assert (found is None) == (words is None)
    assert found is None or re.search(words, found)


GRADES = [(0.001, "close to the optimum"), (0.05, "usable"), (0.5, "do not rely on it")]


@pytest.mark.parametrize(("gap", "words"), GRADES)
def test_words_are_graded_by_the_gap(gap, words):
    certificate = Certificate(1.0, 1.0 - gap, gap, gap, 0.1, Status.TIME_LIMIT, 9, 1e-3)
    message = advice([certificate])
    assert words in message
    assert "max_time" in message
    assert [w for _, w in GRADES if w in message] == [words]


def test_nothing_is_claimed_without_a_gap():
    certificate = Certificate(1.0, 1.0, np.nan, np.nan, 0.1, Status.STALLED, 9, 1e-3)
    assert "not known" in advice([certificate])
    assert "usable" not in advice([certificate])


@pytest.mark.parametrize(
    ("violation", "rounding", "gap", "words", "cure"),
    [
        (2e-3, 0.0, 0.5, r"violation 0\.002 exceeds tol=0\.001", r"accept a larger tol\."),
        (9e-4, 2e-4, 0.001, r"0\.0009 is within tol=0\.001, but float64 rounding", "centre the"),
        (9e-4, 1e-5, 0.05, r"is within tol=0\.001, but .* gap_tol=0\.01", "larger gap_tol"),
        (9e-4, 0.0, 0.001, r"is within tol=0\.001, but the constraints", r"a larger tol\."),
        (9e-4, np.inf, 0.001, "values of the native core differ", "WIDESTREET_ISA=portable"),
    ],
)
def test_a_stalled_fit_names_the_condition_that_fails(violation, rounding, gap, words, cure):
    certificate = Certificate(
        1.0, 1.0 - gap, gap, gap, violation, Status.STALLED, 9, 1e-3, rounding, 0.01
    )
    found = advice([certificate])
    assert re.search(words, found)
    assert re.search(f"To get closer to the optimum, .*{cure}", found)
    assert ("exceeds tol" in found) == (violation > 1e-3)


def test_zero_coefficients_at_a_limit_may_mean_that_values_are_too_large():
    zero = Certificate(5.0, 0.0, 5.0, 1.0, 2.0, Status.TIME_LIMIT, 8, 1e-3)
    assert re.search(r"raise max_time; if that does not help, scale the features", advice([zero]))


def test_a_small_gap_is_named_with_a_digit():
    small = Certificate(1.0, 1.0 - 2e-7, 2e-7, 2e-7, 2e-3, Status.TIME_LIMIT, 8, 1e-3)
    assert "its objective is within 2e-05 % of it." in advice([small])


def test_a_limit_comes_before_the_rounding_that_a_later_point_would_meet():
    limited = replace(certificate("time_limit", 8.6), rounding=2e-3)
    assert limited.lost_in_rounding
    assert re.search(r"raise max_time, and scale.*rounding error", advice([limited]))


@pytest.mark.parametrize(
    ("status", "words", "cure"),
    [
        ("interrupted", "before the model was certified", "let the fit run to the end"),
        ("time_limit", "max_time left no time", "raise max_time"),
        ("iteration_limit", "max_time left no time", "raise max_time"),
    ],
)
def test_a_model_that_was_not_examined_names_what_ended_the_fit(status, words, cure):
    found = advice([Certificate.unexamined(Status(status), 1.5, 1e-3)])
    assert words in found
    assert found.endswith(f"To get a certificate, {cure}.")
    assert (status == "interrupted") == ("time" not in found)


def test_an_estimate_is_named_as_such():
    """With its interval, the size of the sample, and how long an examination takes."""
    estimate = GapEstimate(0.25, (0.2, 0.3), 1024, 48.6)
    certificate = Certificate.unexamined(Status.TIME_LIMIT, 3.5, 1e-3, 0.01, estimate)
    text = advice([certificate])
    assert "random sample of 1,024 rows estimates a relative gap of 0.25" in text
    assert "between 0.2 and 0.3 with 95 % confidence" in text
    assert "raise max_time: an examination of all rows takes about 49 s." in text
    assert "nothing is known" not in text
