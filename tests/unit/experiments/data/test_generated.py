"""Generated data of the race."""

from __future__ import annotations

import numpy as np

from widestreet._experiments.data import generated


def test_rows_are_always_the_same_and_test_rows_are_others(monkeypatch):
    monkeypatch.setattr(generated, "TEST_ROWS", 20)
    for task in generated.TASKS:
        first, again = task.load(30), task.load(30)
        assert task.missing() is None
        assert (len(first.y), len(first.y_test)) == (30, 20)
        assert np.array_equal(first.X, again.X)
        assert not {tuple(row) for row in first.X} & {tuple(row) for row in first.X_test}
