"""Strategies that sample rows, within limits of steps, time and memory and under interrupts."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from conftest import OF_THREE, TOL
from reference import kernels
from support.fitting import coefficients, decision
from support.interrupted import Interrupting
from support.machines import assert_same_function, data, machine
from support.small_strategies import every_small_one


@every_small_one
@pytest.mark.parametrize("kind", ["svc", "nu_svr", "svc" + OF_THREE])
def test_max_iter_limits_pair_steps(kind, strategy):
    X, y = data(kind, 60)
    model = machine(kind, max_iter=20, strategy=strategy)
    with pytest.warns(ConvergenceWarning, match=r"iteration_limit.*gap.*max_iter"):
        model.fit(X, y)
    assert model.certificate_.status == "iteration_limit"
    assert 0 < np.max(model.n_iter_) <= 20
    enough = machine(kind, max_iter=10**6, strategy=strategy).fit(X, y)
    assert_same_function(enough, machine(kind, strategy=strategy).fit(X, y), X)


@every_small_one
@pytest.mark.parametrize("kind", ["svc", "nu_svr", "svc" + OF_THREE])
def test_max_time_ends_a_fit(kind, strategy):
    """With a kernel so slow that nothing else takes time."""

    def slow(A, B):
        time.sleep(0.04)
        return kernels.matrix("rbf", A, B, gamma=0.5)

    model = machine(kind, kernel=slow, max_time=0.15, strategy=strategy)
    with pytest.warns(ConvergenceWarning, match=r"time_limit.*max_time"):
        model.fit(*data(kind, 60))
    assert model.certificate_.status == "time_limit"
    assert np.isfinite(decision(model, data(kind, 60)[0])).all()


@every_small_one
@pytest.mark.parametrize("kind", ["svc", "nu_svr", "svc" + OF_THREE])
def test_an_interrupt_leaves_a_model(kind, strategy):
    X, y = data(kind, 60)
    whole = Interrupting(None)
    machine(kind, kernel=whole, strategy=strategy).fit(X, y)
    for at in (1, 2, 3, whole.calls // 2, whole.calls):
        model = machine(kind, kernel=Interrupting(at), strategy=strategy, on_interrupt="keep")
        with pytest.warns(ConvergenceWarning, match=r"interrupted.*(gap|certif)"):
            model.fit(X, y)
        assert model.certificate_.status == "interrupted"
        assert np.isfinite(decision(model, X)).all()
        if kind == "svc":
            assert np.abs(coefficients(model)).max(initial=0.0) <= model.C
            assert abs(coefficients(model).sum()) <= TOL.feasibility * model.C * len(y)


@every_small_one
def test_an_interrupt_is_raised_by_default(strategy):
    model = machine("svc", kernel=Interrupting(4), strategy=strategy)
    with (
        pytest.warns(ConvergenceWarning, match="interrupted"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(*data("svc", 60))
    assert model.certificate_.status == "interrupted"


TIGHT = {"svc": {"C": 0.1}, "svr": {"C": 0.1}, "nu_svc": {"nu": 0.6}}


@cache
def tight_by_smo(kind: str) -> Any:
    return machine(kind, strategy="smo", **TIGHT[kind]).fit(*data(kind, 700))


@every_small_one
@pytest.mark.parametrize("kind", TIGHT)
def test_a_small_memory_is_enough(kind, strategy):
    """There is room for fewer rows than are support vectors."""
    X, y = data(kind, 700)
    with pytest.raises(ValueError, match="max_memory") as caught:
        machine(kind, strategy=strategy, max_memory=1).fit(X, y)
    least = int(str(caught.value).split("at least ")[1].split(" ")[0].replace(",", ""))
    model = machine(kind, strategy=strategy, max_memory=least, tol=1e-5, **TIGHT[kind]).fit(X, y)
    assert model.certificate_.status == "optimal"
    smo = tight_by_smo(kind)
    sets = [record.working_set for record in model.trace_ if "site" not in record.notes]
    assert len(smo.support_) > max(sets, default=0)  # samples have working sets of their own
    best = smo.certificate_.dual_objective
    assert model.certificate_.dual_objective == pytest.approx(best, rel=TOL.strategies_rel)
