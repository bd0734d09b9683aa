"""Scans of many short lists in one call."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.class_pairs import gram_in_form, rbf
from widestreet._src.kernels import gram as gram_module
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("threads", [1, 3])
def test_every_part_for_itself(form, threads, rng):
    X = rng.normal(size=(60, 3))
    K, gram = rbf(X, X), gram_in_form(form, X)
    sizes = [1, 30, 7, 60, 2]
    rows = [rng.permutation(60)[:n] for n in sizes]
    coefs = [rng.normal(size=n) * (rng.random(n) < 0.5) for n in sizes]
    coefs[2][:] = 0.0
    end = np.cumsum(sizes)
    poll = Poll()
    found = gram.scan_parts(np.concatenate(rows), end, np.concatenate(coefs), threads, poll=poll)
    for I, coef, part in zip(rows, coefs, np.split(found, end[:-1]), strict=True):
        slack = TOL.scan_float64 * (1 + np.abs(coef).sum())
        np.testing.assert_allclose(part, K[np.ix_(I, I)] @ coef, atol=slack, rtol=0)
    assert poll.kernel_values == sum(len(c) * np.count_nonzero(c) for c in coefs)


def test_no_call_takes_long(monkeypatch, rng):
    """Clocks and signals are looked at between calls."""
    X = rng.normal(size=(40, 3))
    gram: Gram = gram_in_form("dense", X)
    place, coef, end = np.tile(np.arange(40), 5), rng.normal(size=200), np.arange(40, 201, 40)
    whole = gram.scan_parts(place, end, coef, 1)
    calls = []
    monkeypatch.setattr(gram_module, "CALL_COST", 2.5 * 40 * 40 * gram.cost)
    cut = gram.scan_parts(place, end, coef, 1, poll=Poll(lambda: calls.append(None)))
    assert len(calls) == 3
    assert np.array_equal(whole, cut)
