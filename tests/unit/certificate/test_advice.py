"""What a user is told about a fit: the words are graded by what was proved."""

from __future__ import annotations

import re

import numpy as np
import pytest

from widestreet._src.certificate import Certificate, advice, worst
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
        ([("iteration_limit", 0.1)], 0, r"'iteration_limit': violation 0.1 \(.*raise max_iter"),
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
