"""Scores of rows with few features by interpolation: errors within their bound, work saved."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet import SVC
from widestreet._src.kernels import interpolation
from widestreet._src.kernels.gram import Gram, interpolated
from widestreet._src.kernels.interpolation import NODES, Grid
from widestreet._src.kernels.kernels import RBF, Laplacian
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric


@pytest.fixture
def eager(monkeypatch):
    """Interpolate scans of any size."""
    monkeypatch.setattr(interpolation, "_LEAST_COST", 0.0)
    monkeypatch.setattr(interpolation, "_SAVING", np.inf)


def problem(rng, features, rows=3000, vectors=400, dtype=np.float64):
    X = rng.normal(size=(rows, features)).astype(dtype)
    return X, rng.permutation(rows)[:vectors], rng.choice([-100.0, 100.0], vectors)


@pytest.mark.parametrize("features", [1, 2, 3])
@pytest.mark.parametrize("gamma", [1e-3, 0.3, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_are_within_their_bound_and_below_those_of_float32(
    features, gamma, dtype, rng, eager
):
    X, J, coef = problem(rng, features, dtype=dtype)
    I = rng.permutation(len(X))[:2000]
    gram, poll = Gram(RBF(gamma), as_rows(X, centre=X.mean(axis=0).astype(np.float64))), Poll()
    exact = gram.scan(I, J, coef)
    rough = gram.rough_scan(I, J, coef, poll=poll)
    assert rough is not None
    score, bound = rough
    assert poll.kernel_values % (NODES**features * len(J)) == 0  # all of them at nodes
    assert (np.abs(score - exact) <= bound).all()
    assert (bound < TOL.scan_float32 * np.abs(coef).sum()).all()
    assert np.array_equal(score, gram.scan(I, J, coef, dtype=np.float32))


@pytest.mark.parametrize("features", [1, 2, 3])
def test_interpolation_in_float64_is_as_accurate_as_its_sums(features, rng, eager):
    X, J, coef = problem(rng, features)
    lines, poll = np.stack([coef, rng.normal(size=len(J))]), Poll()
    gram = Gram(RBF(0.3), as_rows(X))
    exact = gram.scan(None, J, lines)
    found = gram.scan(None, J, lines, near=True, poll=poll)
    assert poll.kernel_values % (NODES**features * len(J)) == 0
    slack = TOL.scan_float64 * np.abs(lines).sum(axis=1, keepdims=True)
    assert (np.abs(found - exact) <= slack).all()


def test_decision_values_of_many_rows_are_those_of_few(rng, eager):
    X = rng.uniform(size=(2000, 2))
    model = SVC(C=10.0, gamma=2.0, random_state=0).fit(X, X[:, 0] > X[:, 1] ** 2)
    found = model.decision_function(X)
    each = np.concatenate([model.decision_function(X[a : a + 1]) for a in range(20)])
    slack = TOL.scan_float64 * np.abs(model.dual_coef_).sum()
    np.testing.assert_allclose(found[:20], each, atol=slack, rtol=0)


def test_the_bound_holds_for_the_worst_cell(rng):
    """One vector: the sum is the kernel itself, at all places relative to the cell."""
    X = np.linspace(-0.3, 0.3, 2001)[:, None]
    for gamma in (1.0, 5.0):
        grid = Grid.of(gamma, as_rows(X))
        assert grid is not None
        for s in np.linspace(-2.0, 2.0, 41):
            nodes = grid.nodes(np.arange(grid.cells))
            values = np.exp(-gamma * (nodes[:, 0] - s) ** 2).reshape(1, grid.cells, NODES)
            coef, out = grid.coefficients(values), np.empty((1, len(X)))
            grid.evaluate(as_rows(X), None, np.arange(grid.cells), coef, out, 1)
            bound = grid.truncation + grid.rounding(values, coef, np.ones(1), np.full(1, 1e-15))
            assert np.abs(out[0] - np.exp(-gamma * (X[:, 0] - s) ** 2)).max() <= bound[0]


def test_polynomials_are_kept_for_the_next_rows_of_the_same_sum(rng, eager):
    X, J, coef = problem(rng, 2)
    gram, poll = Gram(RBF(0.3), as_rows(X)), Poll()
    every = gram.scan(np.arange(3000), J, coef, dtype=np.float32, poll=poll)
    before = poll.kernel_values
    some = gram.scan(np.arange(1000), J, coef, dtype=np.float32, poll=poll)
    assert poll.kernel_values == before
    assert np.array_equal(some, every[:1000])
    gram.scan(np.arange(1000), J, -coef, dtype=np.float32, poll=poll)
    assert poll.kernel_values > before


def test_rows_that_lie_in_few_cells_cost_few_nodes(rng, eager):
    t = rng.uniform(0.0, 20.0, 3000)
    gram, poll = Gram(RBF(1.0), as_rows(np.stack([t, t], axis=1))), Poll()
    gram.scan(None, np.arange(50), np.ones(50), dtype=np.float32, poll=poll)
    grid = Grid.of(1.0, gram.left)
    assert grid is not None
    assert poll.kernel_values == 50 * NODES**2 * len(grid.occupied(gram.left, None, 1))
    assert poll.kernel_values < 50 * NODES**2 * grid.cells / 4


@pytest.mark.parametrize(
    ("features", "scale", "gamma"), [(4, 1.0, 0.3), (2, 1e3, 0.3), (3, 10.0, 1.0)]
)
def test_many_features_or_many_cells_have_no_grid(features, scale, gamma, rng):
    assert Grid.of(gamma, as_rows(scale * rng.normal(size=(100, features)))) is None


def test_a_constant_feature_has_one_cell(rng, eager):
    X, J, coef = problem(rng, 2)
    X[:, 1] = 3.0
    grid = Grid.of(2.0, as_rows(X))
    assert grid is not None
    assert grid.count[1] == 1
    gram = Gram(RBF(2.0), as_rows(X))
    score, bound = gram.rough_scan(np.arange(3000), J, coef)
    assert (np.abs(score - gram.scan(None, J, coef)) <= bound).all()


def test_small_scans_and_other_kernels_are_not_interpolated(rng):
    X, J, coef = problem(rng, 2)
    poll = Poll()
    Gram(RBF(0.3), as_rows(X)).scan(None, J, coef, dtype=np.float32, poll=poll)
    assert poll.kernel_values == len(X) * len(J)
    rows = as_rows(X)
    assert interpolated(Gram(RBF(0.3), rows), len(X), len(J)) is None
    assert 0 < interpolated(Gram(RBF(0.3), rows), 10**6, 10**4) < 10**10
    assert interpolated(Gram(Laplacian(0.3), rows), 10**6, 10**4) is None


def test_the_diagonal_is_added(rng, eager):
    X, J, coef = problem(rng, 2)
    diagonal = rng.uniform(0.1, 1.0, len(X))
    gram = Gram(RBF(0.3), as_rows(X)).select(None, diagonal=diagonal)
    exact, every = gram.scan(None, J, coef), np.arange(len(X))
    score, bound = gram.rough_scan(every, J, coef)
    assert (np.abs(score - exact) <= bound).all()
    assert (np.abs(gram.scan(None, J, coef, dtype=np.float32) - exact) <= bound).all()


def test_a_stop_is_looked_for_between_calls(rng, eager, monkeypatch):
    X, J, coef = problem(rng, 2)
    monkeypatch.setattr(interpolation, "_CALL_COST", 1e6)
    looks: list[None] = []
    gram = Gram(RBF(2.0), as_rows(X))
    gram.scan(None, J, coef, dtype=np.float32, poll=Poll(lambda: looks.append(None)))
    assert len(looks) > 2


@pytest.mark.parametrize("features", [2, 3])
def test_fits_with_interpolated_surveys_are_certified(features, rng, eager, by_rounds):
    X = rng.uniform(size=(4000, features)).astype(np.float32)
    y = np.sign(np.sin(6.0 * X).prod(axis=1) + 0.1 * rng.normal(size=4000))
    tol = 1e-4
    model = SVC(C=10.0, gamma=2.0, tol=tol, random_state=0).fit(X, y)
    assert model.certificate_.status == "optimal"
    K = np.exp(-2.0 * ((X[:, None].astype(np.float64) - model.support_vectors_) ** 2).sum(axis=2))
    margin = y * (K @ model.dual_coef_[0] + model.intercept_)
    inside = np.setdiff1d(np.arange(4000), model.support_)
    assert margin[inside].min() >= 1.0 - tol


@pytest.mark.parametrize("gamma", [0.0, 5e-324])
def test_a_kernel_of_no_width_is_not_interpolated(gamma, rng, eager):
    X, J, coef = problem(rng, 2)
    found = Gram(RBF(gamma), as_rows(X)).scan(None, J, coef, near=True)
    np.testing.assert_allclose(found, coef.sum(), rtol=TOL.scan_float64)


def test_the_bound_is_that_of_the_farthest_nodes():
    """Cells are added one after the other, and the bounds of their nodes differ."""
    grid = Grid.of(1.0, as_rows(np.array([[0.0], [1.0]])))
    values, cells = np.zeros((1, 1, grid.size)), np.arange(2)
    empty = values[:, :0]
    nothing = interpolation._Polynomials(
        grid, None, np.ones((1, 2)), cells[:0], empty, empty, np.zeros(1)
    )
    first = nothing.with_cells(cells[:1], values, np.array([2.0]))
    assert first.with_cells(cells[1:], values, np.array([1.0])).at_nodes == 2.0
