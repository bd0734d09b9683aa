"""Tables of probabilities and intervals, in miniature."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._experiments.studies import calibration


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def first(problems, monkeypatch, name):
    """Let a study have one problem."""
    one = next(iter(problems()))
    monkeypatch.setattr(calibration, name, lambda: iter([one]))


def test_probabilities_in_miniature(monkeypatch):
    first(calibration._classifications, monkeypatch, "_classifications")
    monkeypatch.setattr(calibration, "SPLITS", 1)
    monkeypatch.setattr(calibration, "MANY_SPLITS", 1)
    monkeypatch.setattr(calibration, "REPEATS", 1)
    ((name, size, used, *figures),) = cells(calibration.probabilities(1))
    assert (name, size) == ("breast cancer", "284 x 30")
    assert used in ("loo", "5")
    assert all(0 < float(score) < 1 for score in figures[:4])
    assert len(figures) == 6


def test_intervals_in_miniature(monkeypatch):
    monkeypatch.setattr(calibration, "TEST_ROWS", 200)
    monkeypatch.setattr(calibration, "SAMPLE_ROWS", 30)
    monkeypatch.setattr(calibration, "SAMPLES", 3)
    first(calibration._regressions, monkeypatch, "_regressions")
    ((name, size, *figures),) = cells(calibration.intervals(1))
    assert (name, size) == ("friedman1", "30 x 10")
    assert all(0.5 < float(figures[k]) <= 1 for k in (0, 4))
    assert all(float(figures[k]) > 0 for k in (3, 7))


def test_the_brier_score_of_two_and_of_three_classes():
    assert calibration._brier(np.array([0, 1]), [1], np.array([[0.25, 0.75]])) == 0.0625
    three = calibration._brier(np.arange(3), [0], np.array([[0.5, 0.25, 0.25]]))
    assert three == pytest.approx(0.375)
