"""The noisy set: what its rows are like."""

from __future__ import annotations

import numpy as np

import widestreet as ws
from widestreet._experiments.data.noisy import TASKS, generate


def test_a_fifth_is_positive_and_columns_have_unit_variance():
    X, y = generate(20_000, 0)
    assert X.shape == (20_000, 8)
    assert 0.18 < y.mean() < 0.22
    assert np.abs(X.std(axis=0) - 1).max() < 0.05
    again = generate(20_000, 0)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])


def test_most_support_vectors_are_at_their_bound():
    [task] = TASKS
    split = task.load(3000)
    model = ws.SVC(C=task.C, gamma=task.gamma).fit(split.X, split.y)
    size = np.abs(model.dual_coef_)
    assert 0.35 < size.shape[1] / 3000 < 0.6
    assert (size == task.C).mean() > 0.5
