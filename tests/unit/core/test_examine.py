"""The native examination of many points, against the literal formulas."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from reference import duals, kkt
from reference.duals import MODELS
from support.problems import random_feasible, toy_model
from widestreet import _core

pytestmark = pytest.mark.numeric

every_model = pytest.mark.parametrize("model", MODELS)


def examine(parts, betas, scores):
    """Points of several duals, one after the other."""

    def joined(name, dtype):
        arrays = [np.asarray(getattr(dual, name), dtype=dtype) for dual in parts]
        return np.concatenate(arrays, axis=1)

    return _core.examine(
        _core.Variables(
            *(joined(name, np.float64) for name in ("target", "lower", "upper")),
            joined("group", np.uint8),
            groups=len(parts[0].totals),
        ),
        np.concatenate(betas, axis=1),
        np.concatenate(scores),
        end=np.cumsum([dual.target.shape[1] for dual in parts]),
        total=np.array([dual.totals for dual in parts], dtype=np.float64),
    )


@every_model
def test_points_of_many_duals(model, rng):
    points = []
    for n in (2, 7, 40, 100):
        _, K, qp = toy_model(model, max(n, 10))
        dual = duals.in_beta_space(qp)
        beta = random_feasible(dual, rng)
        points.append((K, dual, beta))
    scores = [K @ beta.sum(axis=0) for K, _, beta in points]
    found, biases = examine([d for _, d, _ in points], [b for _, _, b in points], scores)
    for (K, dual, beta), values, bias in zip(points, found, biases, strict=True):
        primal, objective, violation, infeasibility = values
        slack = TOL.twin * (1 + np.abs(beta).sum() ** 2 + np.abs(dual.upper).sum())
        assert primal == pytest.approx(kkt.primal_objective(K, dual, beta).value, abs=slack)
        assert objective == pytest.approx(kkt.dual_objective(K, dual, beta), abs=slack)
        assert violation == pytest.approx(kkt.kkt_violation(K, dual, beta), abs=slack)
        assert infeasibility <= TOL.feasibility
        best = sum(
            float(kkt.loss(f, lower, upper, b) + b * total)
            for f, lower, upper, b, total in of_groups(K, dual, beta, bias)
        )
        least = kkt.primal_objective(K, dual, beta).value - float(kkt.quadratic(K, beta))
        assert best == pytest.approx(least, abs=slack)


def of_groups(K, dual, beta, bias):
    F = np.asarray(kkt.indicator(K, dual, beta), dtype=np.float64)
    for g, total in enumerate(dual.totals):
        mine = dual.group == g
        yield F[mine], dual.lower[mine], dual.upper[mine], bias[g], float(total)


@every_model
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_proves_nothing_and_spoils_nothing_else(model, value, rng):
    _, K, qp = toy_model(model)
    dual = duals.in_beta_space(qp)
    beta = random_feasible(dual, rng)
    good = K @ beta.sum(axis=0)
    bad = good.copy()
    bad[3] = value
    found, biases = examine([dual, dual], [beta, beta], [bad, good])
    assert found[0, :3].tolist() == [np.inf, -np.inf, np.inf]
    assert found[0, 3] <= TOL.feasibility
    assert (biases[0] == 0).all()
    assert np.isfinite(found[1]).all()


@every_model
def test_breaches_are_seen(model, rng):
    _, K, qp = toy_model(model)
    dual = duals.in_beta_space(qp)
    beta = random_feasible(dual, rng)
    wide = np.flatnonzero(dual.upper[0] > dual.lower[0])[0]
    outside, shifted = beta.copy(), beta.copy()
    outside[0, wide] = dual.upper[0, wide] + 0.5 * (dual.upper - dual.lower)[0, wide]
    shifted[0, wide] += 1e-3 * (dual.upper - dual.lower).sum()
    for point, least in ((outside, 0.5), (shifted, 1e-4)):
        found, _ = examine([dual], [point], [K @ point.sum(axis=0)])
        assert found[0, 3] >= least * (1 - TOL.twin)


def test_sums_of_many_rows_lose_nothing():
    """A million tenths, and their opposites, add up to zero."""
    n = 1_000_000
    beta = np.tile([0.1, -0.1], n // 2)[None]
    box = np.ones_like(beta)
    group, total = np.zeros(beta.shape, dtype=np.uint8), np.zeros((1, 1))
    order = np.argsort(-beta[0], kind="stable")  # all of one sign first
    beta = np.ascontiguousarray(beta[:, order])
    variables = _core.Variables(box * 0, -box, box, group, groups=1)
    found, _ = _core.examine(variables, beta, np.zeros(n), end=np.array([n]), total=total)
    assert found[0, 3] <= np.finfo(np.float64).eps
