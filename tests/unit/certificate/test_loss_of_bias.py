"""The loss as a function of the bias: its minimum, and its pieces between two biases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import TOL
from reference.qp import solve_qp
from support.problems import kernel_matrix, toy_svc, toy_svr
from widestreet._src.certificate import examine
from widestreet._src.certificate.loss_of_bias import Objective, Variables, band
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric

values = st.floats(-4, 4).map(lambda v: round(v, 2))
several = st.lists(
    st.tuples(values, st.sampled_from([0.5, 1.0, 100.0]), st.booleans(), st.sampled_from([0, 2])),
    min_size=1,
    max_size=12,
)


def variables(rows) -> Variables:
    """Boxes of any size and side."""
    f, size, up, d = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    return Variables(f, np.where(up, 0.0, -size), np.where(up, size, 0.0), d)


def literal(v: Variables, b: float, total: float) -> float:
    """The value by the definition: the best of many coefficients, and the best of all."""
    best = 0.0
    for f, lower, upper, d in zip(v.f, v.lower, v.upper, v.d, strict=True):
        tried = [lower, upper]
        if d > 0:
            tried.append(min(max((f - b) / d, lower), upper))
        best += max(c * (f - b) - d * c * c / 2 for c in tried)
    return b * total + best


@example(rows=[(0.0, 0.5, False, 2), (0.0, 100.0, False, 2)], part=0.5, cut=0)
@given(rows=several, part=st.floats(0.1, 0.9), cut=st.integers(0, 12))
def test_no_bias_is_better_than_the_minimisers(rows, part, cut):
    v = variables(rows)
    ends = np.clip(v.lower, -5, 5).sum(), np.clip(v.upper, -5, 5).sum()
    total = float(part * ends[0] + (1 - part) * ends[1])
    kinks = np.concatenate(v.kinks)
    a, z = float(kinks.min()), float(kinks.max())
    mine = np.arange(len(v)) < cut
    found = Objective([band(v.some(mine), a, z, None), band(v.some(~mine), a, z, None)], total)
    size = 1 + np.abs(np.clip(v.upper - v.lower, 0, 5)).sum()
    left, right = found.minimisers(1e-12 * size)
    slack = TOL.twin * size * (1 + np.abs(v.f).max() + abs(left)) ** 2
    middle = 0.5 * (left + right)
    for b in (left, middle, right):
        assert found.value(b) == pytest.approx(literal(v, b, total), abs=slack)
    for b in (*kinks, middle - 1, middle + 1, middle - 1e-3, middle + 1e-3):
        assert literal(v, middle, total) <= literal(v, float(b), total) + slack


@given(rows=several, ends=st.tuples(values, values), at=st.floats(0, 1))
def test_the_pieces_add_up_between_the_ends(rows, ends, at):
    v = variables(rows)
    a, z = sorted(ends)
    b = a + at * (z - a)
    found = Objective([band(v, a, z, None)], 0.7)
    assert found.value(b) == pytest.approx(literal(v, b, 0.7), rel=TOL.twin, abs=TOL.twin)
    slope = 0.7 - v.coefficient(b, right=True).sum()
    assert found.slope(b, right=True) == pytest.approx(slope, abs=TOL.twin)


def test_a_list_that_is_too_long_is_not_given():
    v = Variables(np.arange(5.0), np.zeros(5), np.ones(5), None)
    assert band(v, 1.0, 3.0, 2).inside is None
    listed = band(v, 1.0, 3.0, 3)
    assert listed.inside.f.tolist() == [1.0, 2.0, 3.0]
    assert (listed.linear, listed.constant) == ((1.0,), (3.0,))  # of the variable at 4


# -- squared losses ------------------------------------------------------------------------------


def squared(task: str, C: float):
    """The dual of a squared loss C/2 xi^2, its Gram and its optimal point."""
    problem = toy_svc(40) if task == "svc" else toy_svr(40)
    K, n = kernel_matrix(problem), 40
    if task == "svc":
        y = np.float64(problem.y)[None]
        target, sign = y, y
    else:
        target = np.stack([problem.y - 0.1, problem.y + 0.1])
        sign = np.repeat([[1.0], [-1.0]], n, axis=1)
    most = 100.0 * C  # more than any coefficient has
    box = np.where(sign > 0, 0.0, -most), np.where(sign > 0, most, 0.0)
    d = np.full(n, 1.0 / C)
    group = np.zeros(target.shape, dtype=np.uint8)
    dual = Dual(target, *box, group, np.zeros(1), d)
    s, layers = sign.ravel(), len(target)
    Q = s[:, None] * np.tile(K, (layers, layers)) * s + np.eye(layers * n) / C
    best = solve_qp(Q, -s * target.ravel(), s[None], np.zeros(1), np.full(layers * n, most))
    gram = Gram(RBF(problem.params["gamma"]), as_rows(problem.X, centred=True))
    return gram.select(None, diagonal=d), dual, (s * best.a).reshape(target.shape), -best.objective


@pytest.mark.parametrize("task", ["svc", "svr"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_the_optimum_of_a_squared_loss_has_no_gap(task, C, rng):
    gram, dual, beta, best = squared(task, C)
    found = examine(gram, dual, beta)
    assert found.dual == pytest.approx(best, rel=TOL.strong_duality)
    assert found.primal == pytest.approx(best, rel=TOL.strong_duality)
    assert found.violation <= TOL.violation * (1 + C)
    assert found.certificate("stalled", Goal(TOL.violation * (1 + C), 0.01)).status == "optimal"
    slack = TOL.strong_duality * abs(best)
    for step in np.logspace(-6, 1, 20):  # every other feasible point bounds it
        seen = examine(gram, dual, dual.nearest(beta + step * rng.normal(size=beta.shape)))
        assert seen.infeasibility <= TOL.feasibility
        assert seen.dual - slack <= best <= seen.primal + slack


def test_a_coefficient_outside_of_a_wide_box_is_noticed():
    gram, dual, beta, _ = squared("svc", 1.0)
    wrong = beta.copy()
    i = int(np.argmax(dual.upper[0]))
    wrong[0, i] = -1e-3
    assert examine(gram, dual, wrong).infeasibility >= 1e-3 / dual.upper[0, i]
