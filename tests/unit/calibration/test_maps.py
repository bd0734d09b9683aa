"""Maps to probabilities: known optima, order of values, weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from conftest import TOL
from widestreet._src.calibration.maps import (
    MAPS,
    Isotonic,
    Sigmoid,
    Temperature,
    class_scores,
    platt_targets,
)
from widestreet._src.problems.class_pairs import PairLayout


@pytest.fixture
def rows(rng):
    """Decision values whose probabilities are a sigmoid of them, labels and weights."""
    value = 3.0 * rng.standard_normal(300)
    return value, rng.random(300) < expit(1.5 * value - 0.5), rng.integers(1, 4, 300).astype(float)


def both_sides(value):
    """Scores of two classes."""
    return np.stack([-value / 2, value / 2], axis=1)


def fitted(kind, value, positive, weight):
    if kind is Temperature:
        return kind.fit(both_sides(value), positive.astype(int), weight)
    return kind.fit(value, positive, weight)


def probability(one, value):
    return one(both_sides(value))[:, 1] if isinstance(one, Temperature) else one(value)


def log_loss(p, target, weight):
    return -weight @ (target * np.log(p) + (1 - target) * np.log1p(-p))


@pytest.mark.parametrize("kind", MAPS.values(), ids=str)
def test_probabilities_follow_the_decision_values(kind, rows):
    one = fitted(kind, *rows)
    p = probability(one, np.linspace(-20.0, 20.0, 500))
    assert (np.diff(p) >= 0).all()
    assert ((p > 0) & (p < 1)).all()
    one.check()


@pytest.mark.parametrize("kind", MAPS.values(), ids=str)
def test_weights_are_repetitions_in_any_order(kind, rows, rng):
    value, positive, weight = rows
    many = rng.permutation(np.repeat(np.arange(len(value)), weight.astype(int)))
    one = fitted(kind, value, positive, weight)
    other = fitted(kind, value[many], positive[many], np.ones(len(many)))
    at = np.linspace(-10.0, 10.0, 100)
    np.testing.assert_allclose(probability(one, at), probability(other, at), rtol=TOL.decision)


@pytest.mark.parametrize("kind", MAPS.values(), ids=str)
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_of_decision_values_does_not_matter(kind, scale, rows):
    value, positive, weight = rows
    one, other = fitted(kind, *rows), fitted(kind, scale * value, positive, weight)
    np.testing.assert_allclose(
        probability(one, value), probability(other, scale * value), rtol=TOL.decision
    )


def test_no_sigmoid_near_the_fitted_one_is_better(rows):
    value, positive, weight = rows
    target, one = platt_targets(positive, weight), Sigmoid.fit(*rows)
    best = log_loss(one(value), target, weight)
    for slope, offset in [(0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01), (0.01, -0.01)]:
        near = Sigmoid(one.slope + slope, one.offset + offset)
        assert log_loss(near(value), target, weight) > best


def test_a_sigmoid_never_falls():
    """Values against the labels: the best map without a slope is their mean target."""
    value, positive = np.array([3.0, 2.0, 1.0, -1.0]), np.array([False, False, True, True])
    one = Sigmoid.fit(value, positive, np.ones(4))
    assert one.slope == 0
    target = platt_targets(positive, np.ones(4)).mean()
    np.testing.assert_allclose(-one.offset, logit(target), atol=TOL.exact)


@pytest.mark.parametrize("kind", MAPS.values(), ids=str)
def test_separable_values_are_not_certain(kind):
    value = np.array([-2.0, -1.0, 1.0, 2.0])
    one = fitted(kind, value, value > 0, np.ones(4))
    p = probability(one, value)
    assert ((p > 0.01) & (p < 0.99)).all()


def test_no_isotonic_map_is_nearer_to_the_targets(rows):
    """Pool-adjacent-violators: each level is the mean of its targets."""
    value, positive, weight = rows
    target, p = platt_targets(positive, weight), Isotonic.fit(*rows)(value)
    for level in np.unique(p):
        mine = p == level
        np.testing.assert_allclose(np.average(target[mine], weights=weight[mine]), level)


def test_a_temperature_of_known_probabilities(rng):
    """Scores that are logarithms of probabilities, times a temperature, of many rows."""
    p = rng.dirichlet(np.ones(3), 20_000)
    code = (p.cumsum(axis=1) > rng.random(20_000)[:, None]).argmax(axis=1)
    one = Temperature.fit(2.0 * np.log(p), code, np.ones(20_000))
    assert abs(one.temperature - 2.0) < 10 * TOL.sampled


def test_scores_of_classes_add_up_to_zero(rng):
    layout = PairLayout(4)
    scores = class_scores(layout, rng.standard_normal((10, 6)))
    np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=TOL.exact)
    two = class_scores(PairLayout(2), np.array([[3.0], [-1.0]]))
    np.testing.assert_array_equal(two, [[-1.5, 1.5], [0.5, -0.5]])


@pytest.mark.parametrize(
    "wrong",
    [
        Sigmoid(1.0, 0.0),
        Sigmoid(-1.0, np.nan),
        Isotonic(np.array([1.0, 0.0]), np.array([0.1, 0.2])),
        Isotonic(np.array([0.0, 1.0]), np.array([0.2, 0.1])),
        Isotonic(np.array([0.0, 1.0]), np.array([0.2, 1.1])),
        Isotonic(np.array([]), np.array([])),
        Temperature(0.0),
    ],
    ids=str,
)
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(ValueError, match="wrong numbers"):
        wrong.check()
