"""The strategy of the interior-point engine: the optimum, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import widestreet as ws
from conftest import TOL
from support.machines import data, machine
from widestreet._src.kernels.kernels import Linear
from widestreet.strategies import SMO, Auto, Interior


@pytest.mark.numeric
@pytest.mark.parametrize("kind", ["svc", "svr", "nu_svc", "nu_svr", "one_class"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_the_optimum_is_that_of_pair_steps(kind, kernel):
    X, y = data(kind)
    options = {"kernel": kernel, "tol": TOL.violation}
    found = machine(kind, strategy="interior", **options).fit(X, y)
    other = machine(kind, strategy="smo", **options).fit(X, y)
    assert found.certificate_.status == "optimal"
    assert found.certificate_.dual_objective == pytest.approx(
        other.certificate_.dual_objective, rel=TOL.strategies_rel, abs=TOL.violation
    )


@pytest.mark.numeric
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_and_losses(loss, rng):
    X = rng.standard_normal((80, 3))
    y = X[:, 0] + rng.standard_normal(80) > 0
    weight = rng.uniform(0.1, 10.0, 80)
    models = [
        ws.SVC(kernel="linear", C=1e4, loss=loss, strategy=strategy, random_state=0)
        for strategy in ("interior", "auto")
    ]
    found, other = (model.fit(X, y, weight) for model in models)
    assert found.certificate_.status == other.certificate_.status == "optimal"
    assert found.certificate_.dual_objective == pytest.approx(
        other.certificate_.dual_objective, rel=TOL.strategies_rel
    )


def test_a_matrix_that_is_not_positive_semidefinite_is_refused_by_name(rng):
    K = rng.standard_normal((20, 20))
    model = ws.SVC(kernel="precomputed", strategy="interior")
    with pytest.raises(ValueError, match=r"positive semidefinite.*precomputed.*strategy='auto'"):
        model.fit(K + K.T, np.arange(20) % 2)


def test_a_rank_beyond_the_limit_is_refused(rng):
    X = rng.standard_normal((60, 5))
    model = ws.SVC(kernel="rbf", strategy=Interior(max_rank=10))
    with pytest.raises(ValueError, match=r"rank.*rbf kernel exceeds 10; .*max_rank"):
        model.fit(X, np.arange(60) % 2)


def test_the_rank_is_at_least_one():
    with pytest.raises(ValueError, match="max_rank must be an integer of at least 1, got 0"):
        Interior(max_rank=0)


def test_rounds_continue_with_another_strategy():
    assert isinstance(Interior().search(), Auto)
    assert isinstance(Interior(rounds=SMO()).search(), SMO)
    assert not Interior.solves_small


@pytest.mark.numeric
def test_auto_turns_to_it_where_pair_steps_are_slow(rng):
    X = rng.standard_normal((1000, 5))
    y = X[:, 0] + 3 * rng.standard_normal(1000) > 0
    model = ws.SVC(kernel="linear", C=1e6, random_state=0).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert any("interior" in record.timings for record in model.trace_)
    assert isinstance(model._kernel, Linear)
