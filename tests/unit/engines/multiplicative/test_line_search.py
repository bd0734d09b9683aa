"""Weights from logarithms, and the line search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from conftest import TOL
from reference import multiplicative as printed
from widestreet import _core
from widestreet._src.engines.multiplicative.line_search import line_search, logarithms, tilted

pytestmark = pytest.mark.numeric


def mean_under(log, margin, eta) -> float:
    weight, _ = tilted(log, margin, eta)
    return float(weight @ margin)


@pytest.mark.parametrize("start", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("part", [1e-6, 0.01, 0.1, 0.9, 0.999999])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_line_search_finds_what_brentq_finds(start, part, scale, rng):
    """The edge lies at a part of the way from the mean down to the smallest margin."""
    a = rng.dirichlet(np.full(50, 0.5)) + 1e-9
    a /= a.sum()
    margin = scale * (rng.normal(size=50) + 3.0)
    edge = (1 - part) * (a @ margin) + part * margin.min()
    eta = line_search(np.log(a), margin, edge, start)
    assert mean_under(np.log(a), margin, eta) == pytest.approx(edge, rel=TOL.twin)
    weight, _ = tilted(np.log(a), margin, eta)
    variance = weight @ (margin - weight @ margin) ** 2
    difference = abs(eta - printed.edge_eta(a, margin, edge))
    assert difference <= TOL.line_search * (eta + edge / variance)


@pytest.mark.parametrize(
    ("margin", "edge", "first"),
    [
        ([-1.0, 1.0 + 1e-9, 0.5, 0.25], 1e-10, 0.25),  # a tiny edge
        ([1e-12, 1.0, 1e12, 1e12], 1e-3, 0.25),  # a huge spread
        ([-1e6, 1.0, 1.0, 1.0], 0.5, 1e-9),  # one row far below
        ([1.0, 1.0 + 1e-9, 2.0, 3.0], 1.0 + 1e-10, 0.25),  # an edge just above the least
        ([1.0, 1.0 + 1e-8, 1.0 + 2e-8, 1.0 + 3e-8], 1.0 + 1e-8, 0.25),  # nearly equal
    ],
)
def test_margins_of_an_extreme_kind(margin, edge, first):
    """Some sums of which have an error of 1e-16 of the largest, which may be far above the edge."""
    margin = np.array(margin)
    log = np.log([first, *[(1.0 - first) / 3] * 3])
    assert margin.min() < edge < np.exp(log) @ margin
    with np.errstate(all="raise", under="ignore"):
        eta = line_search(log, margin, edge, 1.0)
    assert 0 < eta < np.inf
    size = mean_under(log, np.abs(margin), eta)
    assert mean_under(log, margin, eta) == pytest.approx(edge, abs=TOL.twin * size)


@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(0.001, 0.999), st.floats(-6, 6))
def test_any_line_search(seed, n, part, start):
    rng = np.random.default_rng(seed)
    log = np.log(rng.dirichlet(np.ones(n)) + 1e-12)
    log -= logsumexp(log)
    margin = rng.normal(size=n) * 10.0 ** rng.uniform(-4, 4)
    mean = float(np.exp(log) @ margin)
    margin += max(0.0, 1e-3 - mean) + 1e-3 * np.ptp(margin)  # the mean of a point is positive
    mean = float(np.exp(log) @ margin)
    edge = (1 - part) * mean + part * max(margin.min(), 0.0)
    if not margin.min() < edge < mean or np.ptp(margin) < 1e-6 * np.abs(margin).max():
        return
    eta = line_search(log, margin, edge, 10.0**start)
    assert eta > 0
    assert mean_under(log, margin, eta) == pytest.approx(
        edge, abs=TOL.edge * edge + TOL.exact * np.abs(margin).max()
    )


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 40])
def test_tilted_weights(n, rng):
    log, margin = rng.normal(size=n), rng.normal(size=n)
    log[0], eta = log[0] - 5000.0 * (n > 2), 0.7
    weight, new = tilted(log, margin, eta)
    expected = log - eta * margin
    expected -= logsumexp(expected)
    np.testing.assert_allclose(weight, np.exp(expected), rtol=TOL.twin, atol=1e-200)
    np.testing.assert_allclose(new, expected, rtol=TOL.twin, atol=TOL.twin)
    assert (weight > 0).all()
    assert weight.sum() == pytest.approx(1.0, rel=TOL.exact)
    np.testing.assert_array_equal(tilted(log), tilted(log, np.zeros(n), 0.0))


def test_rows_without_weight_change_nothing(rng):
    """Whatever their margins are."""
    log, margin = np.log(rng.dirichlet(np.ones(21))), rng.normal(size=21) + 3.0
    more = np.insert(log, 5, -np.inf), np.insert(margin, 5, -1e6)
    edge = 0.5 * (np.exp(log) @ margin + margin.min())
    eta = line_search(log, margin, edge, 1.0)
    assert line_search(*more, edge, 1.0) == pytest.approx(eta, rel=TOL.twin)
    weight, new = tilted(*more, eta)
    expected = tilted(log, margin, eta)
    np.testing.assert_allclose(np.delete(weight, 5), expected[0], rtol=TOL.twin)
    assert new[5] == -np.inf
    assert weight[5] < 1e-250


@pytest.mark.parametrize(
    "arrays", [(np.zeros(0), np.zeros(0)), (np.zeros(3), np.zeros(2)), (np.zeros(3), np.zeros(4))]
)
def test_the_core_refuses_other_shapes(arrays):
    with pytest.raises(ValueError, match="one margin per logarithm"):
        _core.find_eta(*arrays, 1.0, 1.0)
    with pytest.raises(ValueError, match="one margin per logarithm"):
        _core.tilt(*arrays, 1.0, np.empty_like(arrays[0]), np.empty_like(arrays[0]))
    with pytest.raises(ValueError, match="one result per row"):
        _core.tilt(np.zeros(3), np.zeros(3), 1.0, np.zeros(2), np.zeros(3))


def test_logarithms_of_zero_weights_are_minus_infinity():
    with np.errstate(all="raise"):
        log = logarithms(np.array([0.0, 1.0]))
    assert log.tolist() == [-np.inf, 0.0]
