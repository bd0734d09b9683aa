"""The extended set: samples, gradients and sets."""

from __future__ import annotations

import numpy as np

from conftest import TOL
from support.extended_sets import extended_set
from widestreet._src.engines.insvr.extended_set import (
    ERROR_VECTOR,
    MARGIN_VECTOR,
    REMAINING_VECTOR,
    ExtendedSet,
)


def test_more_samples_than_there_was_room_for(rng):
    """Everything moves along when memory is taken anew, also the gradient."""
    subject = ExtendedSet(1.0)
    K, y = np.cov(rng.normal(size=(40, 50))), rng.normal(size=40)
    for i in range(40):
        subject.append(K[:i, i], K[i, i], y[i])
        subject.alpha[-2:] = 0.25, 0.5
        subject.refresh()
    np.testing.assert_array_equal(subject.K, K)
    np.testing.assert_array_equal(subject.y, y)
    z = np.tile([1.0, -1.0], 40)
    Q = np.outer(z, z) * np.repeat(np.repeat(K, 2, axis=0), 2, axis=1)
    g = Q @ subject.alpha - z * np.repeat(y, 2)
    np.testing.assert_allclose(subject.g, g, atol=TOL.twin, rtol=0)
    every = np.arange(80)
    np.testing.assert_allclose(subject.Q(every, every), Q, atol=TOL.exact, rtol=0)


def test_variables_at_a_bound_leave_the_margin():
    subject = extended_set([0.0, 0.0], [0.5, 1e-14, 1 - 1e-14, 0.0])
    subject.leave_at_bounds()
    np.testing.assert_array_equal(subject.alpha, [0.5, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(
        subject.state, [MARGIN_VECTOR, REMAINING_VECTOR, ERROR_VECTOR, REMAINING_VECTOR]
    )
    assert subject.margin.tolist() == [0]


def test_an_appended_sample_has_the_gradient_of_the_present_point(rng):
    """It is in R with both sides; b, e and the other samples enter its gradient."""
    K, y = np.cov(rng.normal(size=(6, 9))), rng.normal(size=6)
    subject = ExtendedSet(1.0)
    for i in range(5):
        subject.append(K[:i, i], K[i, i], y[i])
    subject.alpha[:], subject.bias, subject.tube = rng.uniform(size=10), 0.3, 0.1
    subject.scale = 0.2
    subject.append(K[:5, 5], K[5, 5], y[5])
    np.testing.assert_allclose(subject.g[-2:], subject.gradient(0.3, 0.1)[-2:], atol=TOL.twin)
    assert subject.state[-2:].tolist() == [REMAINING_VECTOR, REMAINING_VECTOR]


def test_the_residual_is_the_largest_violation():
    """S must have g = 0, E g <= 0 and R g >= 0."""
    subject = extended_set([0.0, 0.0], [0.5, 0.0, 1.0, 0.0])
    subject.g[:] = [-0.25, 1.0, -2.0, 3.0]
    assert subject.residual() == 0.25
    subject.g[:] = [0.25, -1.0, -2.0, 3.0]
    assert subject.residual() == 1.0
    subject.g[:] = [0.25, 1.0, 2.0, 3.0]
    assert subject.residual() == 2.0


def test_samples_with_both_sides_in_the_margin_are_doubled():
    subject = extended_set([0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.0, 0.25, 0.5])
    assert subject.doubled.tolist() == [1, 5]
    assert subject.margin.tolist() == [0, 1, 2, 4, 5]
