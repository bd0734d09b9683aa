"""Scans of rows against themselves: half of the values, the same sums within the same bounds."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest

from widestreet import _core
from widestreet._src.kernels import symmetric_scan
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Laplacian
from widestreet._src.kernels.native import NativeBackend
from widestreet._src.kernels.symmetric_scan import add_symmetric_piece, shared_rows
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric


def both(gram, index, coef, ends, threads=1):
    """Sums by pieces that end at `ends`, and those of a scan in two parts."""
    backend = NativeBackend(gram.kernel, gram.left, gram.left, threads)
    out, begin = np.zeros(len(index)), 0
    for end in ends:
        add_symmetric_piece(backend, index, slice(begin, end), coef, out)
        begin = end
    whole = np.concatenate([gram.scan(part, index, coef) for part in np.array_split(index, 2)])
    return out, whole


@pytest.mark.parametrize("ends", [[500], [48, 500], [96, 240, 480, 500], [480, 500]])
@pytest.mark.parametrize("features", [3, 40])
def test_sums_are_those_of_a_scan(ends, features, isa, rng):
    gram = Gram(RBF(0.5 / features), as_rows(rng.normal(size=(600, features)), centred=True))
    index = rng.permutation(600)[:500]
    coef = rng.normal(size=500) * 10.0 ** rng.uniform(-3, 3, 500)
    found, whole = both(gram, index, coef, ends)
    bound = gram.score_errors(index, index, coef)
    assert (np.abs(found - whole) <= 2 * bound).all()


def test_values_of_rows_far_apart_vanish(isa, rng):
    X = np.concatenate([rng.normal(size=(200, 4)), 20.0 + rng.normal(size=(200, 4))])
    gram, every = Gram(RBF(1.0), as_rows(X)), np.arange(400)
    found, whole = both(gram, every, np.ones(400), [144, 400])
    assert (np.abs(found - whole) <= 2 * gram.score_errors(every, every, np.ones(400))).all()


def test_sums_do_not_depend_on_the_threads(isa, rng):
    gram = Gram(RBF(0.1), as_rows(rng.normal(size=(3000, 5)), centred=True))
    every, coef = np.arange(3000), rng.normal(size=3000)
    one, few = (both(gram, every, coef, [1536, 3000], threads)[0] for threads in (1, 3))
    assert np.array_equal(one, few)


def test_scans_of_many_equal_rows_compute_half_of_the_values(isa, rng, monkeypatch):
    gram = Gram(RBF(0.1), as_rows(rng.normal(size=(2500, 5)), centred=True))
    index, coef = rng.permutation(2500)[:2200], rng.normal(size=2200)
    out = rng.normal(size=2200)
    begin = out.copy()
    found = gram.scan(index, index, coef, out=out) - begin
    assert gram.pace.values <= 0.51 * 2200**2
    monkeypatch.setattr(symmetric_scan, "_LEAST_ROWS", 10_000)
    whole = gram.scan(index, index, coef)
    bound = gram.score_error(2200, float(np.abs(coef).sum()), fsum(coef.tolist()))
    assert (np.abs(found - whole) <= 2 * bound).all()


def test_other_scans_are_as_before(rng, monkeypatch):
    rows = as_rows(rng.normal(size=(2500, 5)), centred=True)
    every, coef = np.arange(2500), np.ones((1, 2500))
    backend = NativeBackend(RBF(0.1), rows, rows, 1)
    assert shared_rows(backend, every, every, coef) is every
    assert shared_rows(backend, every[::-1], every, coef) is None
    assert shared_rows(backend, every[:100], every[:100], coef[:, :100]) is None
    assert shared_rows(backend, every, every, np.ones((2, 2500))) is None
    assert shared_rows(NativeBackend(Laplacian(0.1), rows, rows, 1), every, every, coef) is None
    assert shared_rows(NativeBackend(RBF(1e6), rows, rows, 1), every, every, coef) is None
    monkeypatch.setattr(symmetric_scan, "_MOST_BYTES", 8 * 2500 * (rows.shape[1] + 31))
    assert shared_rows(backend, every, every, coef) is None


def test_pieces_of_other_lengths_are_refused(rng):
    rows = as_rows(rng.normal(size=(100, 5)))
    with pytest.raises(ValueError, match="last range"):
        _core.symmetric_scan(1.0, rows.native, np.arange(100), 0, 50, np.ones(100), np.ones(100), 1)
