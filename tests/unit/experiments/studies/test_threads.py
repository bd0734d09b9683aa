"""Fits by the number of threads, in miniature."""

from __future__ import annotations

import pytest

from widestreet._experiments.studies import threads
from widestreet._experiments.studies.threads import Ladder


@pytest.mark.parametrize(("most", "counts"), [(1, [1]), (6, [4, 2, 1]), (16, [16, 8, 4, 2, 1])])
def test_threads_double(most, counts):
    assert threads.steps(most) == counts


def test_every_number_of_threads_has_a_line(monkeypatch):
    ladders = Ladder("checkerboard", 2000, 60.0), Ladder("friedman", 2000, 60.0)
    monkeypatch.setattr(threads, "LADDERS", ladders)
    monkeypatch.setattr(threads, "SMALL", 200)
    cells = [line.split(" | ") for line in threads.fits(2).splitlines()[2:]]
    assert [line[1] for line in cells] == ["1", "2", "1", "2"]
    assert all("optimal" in line[-1] for line in cells)


def test_fits_that_would_take_too_long_are_left_out(monkeypatch):
    monkeypatch.setattr(threads, "SMALL", 200)
    monkeypatch.setattr(threads, "_SLOWER", 1e9)
    assert [line[1] for line in threads.climbed(Ladder("twonorm", 2000, 60.0), 2)] == ["2"]
