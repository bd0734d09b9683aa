"""The thresholds b and e that are reported."""

from __future__ import annotations

import pytest

from support.extended_sets import extended_set
from widestreet._src.engines.insvr.bias_and_tube import interval, thresholds


def test_thresholds_are_unique_with_free_variables():
    """Scores 0.5 and -0.5: b + e = 1 - 0.5, and -b + e = -(3 + 0.5)."""
    subject = extended_set([1.0, 3.0], [0.5, 0.0, 0.0, 0.5], bias=7.0, tube=7.0)
    assert thresholds(subject) == pytest.approx((2.0, -1.5))


def test_thresholds_are_the_middle_of_what_is_possible():
    """No free variable, scores 1, 0, -1, 0: b + e in [3, 5] and -b + e in [-1, 1]."""
    subject = extended_set([6.0, 1.0, -2.0, 3.0], [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    up, down = interval(subject, 0), interval(subject, 1)
    assert (up.low, up.high, down.low, down.high) == (3.0, 5.0, -1.0, 1.0)
    assert thresholds(subject) == (2.0, 2.0)


def test_a_tube_is_not_negative_if_it_need_not_be():
    """As may be with nu = 1: b + e in [-3, 1] and -b + e in [-3, -1], but e = 0 is possible."""
    subject = extended_set([4.0, -4.0, 1.0], [1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    up, down = interval(subject, 0), interval(subject, 1)
    assert (up.low, up.high, down.low, down.high) == (-3.0, 1.0, -3.0, -1.0)
    assert thresholds(subject) == (1.0, 0.0)
