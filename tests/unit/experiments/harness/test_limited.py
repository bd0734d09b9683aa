"""Calls in a process of their own."""

from __future__ import annotations

import operator
import os
import time

import pytest

from widestreet._experiments.harness.limited import limited


def test_results_come_back():
    assert limited(60.0, operator.add, 1, 2) == 3


def test_calls_that_take_too_long_are_killed():
    assert limited(0.01, time.sleep, 60.0) is None


def test_a_process_that_dies_is_named():
    with pytest.raises(RuntimeError, match="_exit died"):
        limited(60.0, os._exit, 1)
