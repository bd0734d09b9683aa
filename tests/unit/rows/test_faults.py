"""The first value that no SVM can be trained on, with its place."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from widestreet._src.rows.faults import Fault, first_fault

ROWS = 3000
X = np.random.default_rng(0).random((ROWS, 4))
LABEL = np.where(np.arange(ROWS) % 2, "yes", "no")


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_values_of_rows_are_searched_row_by_row(storage, value, what):
    assert first_fault(storage(X)) is None
    bad = X.copy()
    bad[2801, 2] = bad[2802, 0] = value
    assert first_fault(storage(bad)) == Fault("X", what, 2801, 2)


def test_targets_labels_and_weights():
    bad = np.where(np.arange(ROWS) == 7, np.nan, 1.0)
    label = LABEL.astype(object)
    label[7] = None
    assert first_fault(X, bad) == Fault("y", "NaN", 7)
    assert first_fault(X, label, labels=True) == Fault("y", "a missing label", 7)
    assert first_fault(X, LABEL, bad, labels=True) == Fault("sample_weight", "NaN", 7)
    assert first_fault(X, LABEL, labels=True) is None


def test_the_first_negative_weight():
    weight = np.where(np.arange(ROWS) >= 5, -1.0, 1.0)
    assert first_fault(X, weight=weight) == Fault("sample_weight", "a negative value", 5)


def test_rows_come_before_weights_and_weights_before_targets():
    bad, rows = np.full(ROWS, np.inf), X.copy()
    rows[1, 1] = np.nan
    assert first_fault(rows, bad, bad).name == "X"
    assert first_fault(X, bad, bad).name == "sample_weight"
