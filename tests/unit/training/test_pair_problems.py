"""The problems of all pairs of classes: their layout, and their scores in few calls."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.class_pairs import FORMS, gram_in_form, rbf
from widestreet._src.kernels import precomputed_and_callable
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.training import pair_problems
from widestreet._src.training.pair_problems import PairProblems


def random_machines(k: int, rng) -> tuple[np.ndarray, PairProblems, list[np.ndarray]]:
    """Rows, classes among some of them, and coefficients of every pair, mostly zero."""
    X = rng.normal(size=(12 * k, 3))
    sizes = rng.integers(1, 11, k)
    members = np.split(rng.permutation(len(X))[: sizes.sum()], np.cumsum(sizes)[:-1])
    machines = PairProblems(members, [])
    coefs = []
    for i, j in PairLayout(k).pairs:
        coef = rng.normal(size=sizes[i] + sizes[j])
        coefs.append(np.where(rng.random(len(coef)) < 0.4, coef, 0.0))
    coefs[-1][:] = 0.0
    return X, machines, coefs


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_by_class_is_the_layout_of_dual_coef(k, rng):
    """Line l of class c: the pair of c and the l-th of the others."""
    _, machines, coefs = random_machines(k, rng)
    found = machines.by_class(coefs)
    for c in range(k):
        others = [x for x in range(k) if x != c]
        assert found[c].shape == (k - 1, len(machines.members[c]))
        for line, other in enumerate(others):
            p = PairLayout(k).pairs.index((min(c, other), max(c, other)))
            first = len(machines.members[min(c, other)])
            half = coefs[p][:first] if c < other else coefs[p][first:]
            assert np.array_equal(found[c][line], half)


def assert_scores(machines, found, coefs, K) -> None:
    for p, (i, j) in enumerate(machines.layout.pairs):
        rows = np.concatenate([machines.members[i], machines.members[j]])
        expected = K[np.ix_(rows, rows)] @ coefs[p]
        slack = TOL.scan_float64 * (1 + np.abs(coefs[p]).sum())
        np.testing.assert_allclose(found[p], expected, atol=slack, rtol=0)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_scores_of_all_pairs_in_few_calls(k, form, rng, monkeypatch):
    """Each pair for itself."""
    monkeypatch.setattr(pair_problems, "_SHARING_PAYS", np.inf)
    X, machines, coefs = random_machines(k, rng)
    gram = gram_in_form(form, X)
    poll = Poll()
    assert_scores(machines, machines.scores(gram, coefs, poll=poll), coefs, rbf(X, X))
    assert poll.kernel_values == sum(len(coef) * np.count_nonzero(coef) for coef in coefs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_scores_of_all_pairs(k, form, rng, monkeypatch):
    monkeypatch.setattr(pair_problems, "_SHARING_PAYS", 0.0)
    X, machines, coefs = random_machines(k, rng)
    gram = gram_in_form(form, X)
    poll = Poll()
    assert_scores(machines, machines.scores(gram, coefs, poll=poll), coefs, rbf(X, X))
    # kernel values within a class are shared by its pairs
    by_class = machines.by_class(coefs)
    own = [len(m) * c.any(axis=0).sum() for m, c in zip(machines.members, by_class, strict=True)]
    across = sum(
        np.count_nonzero(coefs[p][: len(machines.members[i])]) * len(machines.members[j])
        + np.count_nonzero(coefs[p][len(machines.members[i]) :]) * len(machines.members[i])
        for p, (i, j) in enumerate(PairLayout(k).pairs)
    )
    assert poll.kernel_values == sum(own) + across


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lines", [1, 2, 5])
def test_several_sums_at_once_are_as_many_sums(form, lines, rng):
    """And count every kernel value once, for blocks of NumPy, too."""
    X = rng.normal(size=(40, 3))
    gram, K = gram_in_form(form, X), rbf(X, X)
    I, J = rng.integers(0, 40, 17), rng.permutation(40)[:9]
    coef = rng.normal(size=(lines, 9))
    poll = Poll()
    found = gram.scan(I, J, coef, poll=poll)
    assert found.shape == (lines, 17)
    assert poll.kernel_values == 17 * 9
    slack = TOL.scan_float64 * np.abs(coef).sum()
    np.testing.assert_allclose(found, coef @ K[np.ix_(I, J)].T, atol=slack, rtol=0)
    for line, one in zip(coef, found, strict=True):
        np.testing.assert_allclose(gram.scan(I, J, line), one, atol=slack, rtol=0)
    out = np.ones((lines, 40))
    assert gram.scan(None, J, coef, out=out) is out
    np.testing.assert_allclose(out, 1 + coef @ K[:, J].T, atol=slack, rtol=0)
    assert gram.scan(I, J[:0], coef[:, :0]).tolist() == [[0.0] * 17] * lines


def test_a_callable_is_asked_for_bounded_blocks_by_several_sums(monkeypatch, rng):
    monkeypatch.setattr(precomputed_and_callable, "_BLOCK_VALUES", 100)
    X, coef = rng.normal(size=(40, 3)), rng.normal(size=(3, 40))
    found = gram_in_form("callable", X).scan(None, None, coef)
    np.testing.assert_allclose(found, coef @ rbf(X, X), atol=TOL.twin)
