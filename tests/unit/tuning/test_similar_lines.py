"""Scores of lines that differ in few coefficients are those of a scan with all lines."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import kernels
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import as_rows
from widestreet._src.tuning.similar_lines import scores_of_similar_lines

FOLDS = 5


@pytest.fixture
def gram(rng):
    return Gram(RBF(0.5), as_rows(rng.normal(size=(90, 12)), centred=True))


def lines_of(held_out, rng, *, changed=0):
    """Return equal lines but for zeros and some columns, and the number of different columns."""
    coef = rng.normal(size=90) * (rng.random(90) < 0.8)
    lines = np.where(held_out, 0.0, coef)
    lines[0, :changed] += 1.0
    return lines


HELD_OUT = {
    "one of each row": lambda rng: np.arange(FOLDS)[:, None] == np.arange(90) % FOLDS,
    "none": lambda rng: np.zeros((FOLDS, 90), dtype=bool),
    "all": lambda rng: np.ones((FOLDS, 90), dtype=bool),
    "random": lambda rng: rng.random((FOLDS, 90)) < 0.4,
}


@pytest.mark.parametrize("kind", HELD_OUT)
@pytest.mark.parametrize("changed", [0, 7, 90])
def test_scores_are_those_of_all_lines(gram, kind, changed, rng):
    lines = lines_of(HELD_OUT[kind](rng), rng, changed=changed)
    K = kernels.matrix("rbf", gram.left.values, gamma=0.5)
    found = scores_of_similar_lines(gram, lines, Poll())
    np.testing.assert_allclose(found, lines @ K, rtol=0.0, atol=TOL.decision)


def test_each_kernel_value_is_computed_once_for_one_line(gram, rng, monkeypatch):
    lines, scan, given = lines_of(HELD_OUT["one of each row"](rng), rng), Gram.scan, []

    def noting(self, rows, columns, coef, **options):
        given.append((len(columns), coef.ndim))
        return scan(self, rows, columns, coef, **options)

    monkeypatch.setattr(Gram, "scan", noting)
    scores_of_similar_lines(gram, lines, Poll())
    assert sum(columns for columns, _ in given) == np.count_nonzero(lines.any(axis=0))
    assert [dimensions for _, dimensions in given] == [1] * FOLDS


def test_many_lines_are_scanned_together(gram, rng):
    coef = rng.normal(size=90)
    lines = np.where(np.arange(70)[:, None] == np.arange(90) % 70, 0.0, coef)
    K = kernels.matrix("rbf", gram.left.values, gamma=0.5)
    found = scores_of_similar_lines(gram, lines, Poll())
    np.testing.assert_allclose(found, lines @ K, rtol=0.0, atol=TOL.decision)
