"""The rows of an online machine: where they stand, and what is kept of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from widestreet.datasets import twonorm
from widestreet.online import OnlineSVC


@pytest.fixture
def rows():
    X, y = twonorm(60, random_state=0)
    return X, np.where(y > 0, 2, 1)


def test_nothing_of_a_forgotten_row_is_kept(rows):
    X, y = rows
    X = X.copy()
    X[3], X[59] = 1234.56789, 8765.4321
    one = OnlineSVC(kernel="linear").fit(X, y).forget([3, 59])
    held = pickle.dumps(one)
    assert np.float64(1234.56789).tobytes() not in held
    assert np.float64(8765.4321).tobytes() not in held


def test_rows_of_more_digits_are_kept_as_they_are(rows):
    X, y = rows
    one = OnlineSVC(gamma=0.05).fit(X[:50].astype(np.float32), y[:50])
    one.partial_fit(X[50:], y[50:])
    every = np.concatenate([X[:50].astype(np.float32).astype(np.float64), X[50:]])
    refit = OnlineSVC(gamma=0.05).fit(every, y)
    np.testing.assert_allclose(one.decision_function(X), refit.decision_function(X), atol=1e-11)
