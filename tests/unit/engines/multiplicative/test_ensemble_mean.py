"""The mean of many machines: the sizes it remembers, and when it is large enough."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.noisy_labels import LITERAL, noisy
from widestreet._src.engines.budget import Budget
from widestreet._src.engines.multiplicative.ensemble_mean import (
    Ensemble,
    best_size,
    sufficient_size,
)
from widestreet._src.engines.multiplicative.exponentiated_gradient import MultiplicativeEngine


def test_means_of_some_sizes_and_of_the_last(rng):
    ensemble, etas = Ensemble(), rng.uniform(0.5, 2.0, 50)
    weights = rng.dirichlet(np.ones(7), 50)
    Q = np.cov(rng.normal(size=(7, 20)))
    for eta, weight in zip(etas, weights, strict=True):
        ensemble.add(eta, weight, Q @ weight)
        assert max(ensemble.means) == ensemble.size
    assert list(ensemble.means) == [1, 2, 3, 4, 6, 8, 12, 16, 23, 32, 46, 50]
    for size, (mean, rho) in ensemble.means.items():
        expected = np.average(weights[:size], axis=0, weights=etas[:size])
        np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-12)
        assert rho == pytest.approx(expected @ Q @ expected, rel=TOL.twin)
    assert not ensemble.errors
    assert not ensemble.enough


def test_rows_without_weight_judge_the_others():
    """Leaving rows out by a prior of zero is training without them."""
    K, sign = noisy()
    out = np.arange(len(sign)) % 4 == 0
    common = {"budget": Budget(max_steps=8), "observer": lambda record: None, "keep": True}
    found = MultiplicativeEngine(
        lambda coef: K @ coef, sign, np.where(out, 0.0, 1.0), LITERAL, judged=2.0 * out,
        length=np.sqrt(K.diagonal()), **common,
    ).solve()  # fmt: skip
    inner = K[np.ix_(~out, ~out)]
    common["budget"] = Budget(max_steps=8)
    alone = MultiplicativeEngine(
        lambda coef: inner @ coef, sign[~out], np.ones((~out).sum()), LITERAL,
        length=np.sqrt(inner.diagonal()), **common,
    ).solve()  # fmt: skip
    assert found.steps == alone.steps == 8
    assert found.last[out].max() < 1e-200
    np.testing.assert_allclose(found.ensemble[~out], alone.ensemble, rtol=0, atol=1e-12)
    for record, other in zip(found.trace, alone.trace, strict=True):
        assert record.notes["rho"] == pytest.approx(other.notes["rho"], rel=TOL.twin)
        assert record.violation == pytest.approx(other.violation, rel=TOL.twin)
    etas = np.array([eta for eta, _ in found.members])
    margins = np.array([sign * (K @ (sign * weight)) for _, weight in found.members])
    means = np.cumsum(etas[:, None] * margins, axis=0)
    assert found.errors == [2.0 * (mean[out] <= 0).sum() for mean in means]


class Interrupting:
    """Margins that are interrupted when they are multiplied."""

    def __rmul__(self, eta):
        raise KeyboardInterrupt


@pytest.mark.parametrize("size", range(8))
def test_an_interrupt_while_a_point_is_added_leaves_the_mean_before_it(size):
    mean, point = Ensemble(), np.array([0.25, 0.75])
    for _ in range(size):
        mean.add(1.0, point, point)
    with pytest.raises(KeyboardInterrupt):
        mean.add(1.0, point, Interrupting())
    assert mean.size == size
    if size:
        np.testing.assert_array_equal(mean.means[size][0], point)


def test_it_is_enough_long_after_the_best():
    ensemble = Ensemble(judged=np.ones(1))
    margins = [-1.0, -1.0, 10.0, *[-1.0] * 60]  # wrong, until the third outweighs the others
    for margin in margins:
        ensemble.add(1.0, np.ones(1), np.array([margin]))
        if ensemble.enough:
            break
    best = 3 + 7  # after which the sum is no longer above zero
    assert ensemble.size == 2 * best + 20


def test_the_best_size_is_the_largest_of_the_best():
    errors = [[3.0, 1.0, 2.0, 1.0], [5.0, 2.0], [0.0, 0.0, 0.0, 0.0, 9.0]]
    assert best_size([1, 2, 4], errors)[0] == 4
    assert best_size([1, 2, 3], errors)[0] == 2
    size, error = best_size([1, 2, 4, 8], errors)
    assert size == 4
    assert error == sum(one[min(size, len(one)) - 1] for one in errors)


@pytest.mark.parametrize("seed", range(20))
def test_no_size_beyond_the_sufficient_one_is_the_best(seed):
    rng = np.random.default_rng(seed)
    errors = [rng.integers(3, 9, rng.integers(1, 40)).astype(float).tolist() for _ in range(3)]
    enough = sufficient_size(errors)
    means = [1, 2, 3, 4, 6, 8, 12, 16, 23, 32, 46, 64]
    for steps in range(1, 60):
        best, _ = best_size([size for size in means if size < steps] + [steps], errors)
        assert best <= enough


def test_any_size_may_be_the_best_if_the_last_errors_are_the_smallest():
    assert sufficient_size([[3.0, 2.0], [2.0]]) == np.inf
    assert sufficient_size([]) == np.inf
    assert sufficient_size([[3.0, 1.0, 2.0], [1.0]]) == 2
