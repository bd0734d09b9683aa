"""The five machines as one dual, against their textbook QPs."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import duals as reference
from reference import kkt
from reference.duals import MODELS
from support.fitting import in_reference_terms
from support.model_duals import EPSILON, NU, C, build, labels
from support.problems import random_feasible
from widestreet._src.problems import dual as duals
from widestreet._src.problems import formulations

every_model = pytest.mark.parametrize("model", MODELS)


@every_model
@pytest.mark.parametrize("weighted", [False, True])
def test_each_dual_is_its_textbook_qp(model, weighted, rng):
    n = 20
    y = labels(rng, model, n)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], n) if weighted else np.ones(n)
    dual = build(model, y, weight)
    qp = reference.build(model, np.eye(n), y, C=C, epsilon=EPSILON, nu=NU, weight=weight)
    expected = reference.in_beta_space(qp)
    for name in ("target", "lower", "upper", "group"):
        found = getattr(dual, name)
        np.testing.assert_allclose(found, getattr(expected, name), rtol=TOL.exact, err_msg=name)
        assert found.flags.c_contiguous, name
        assert found.dtype == (np.uint8 if name == "group" else np.float64), name
    np.testing.assert_allclose(dual.total, expected.totals, rtol=TOL.exact)
    assert (dual.layers, dual.rows, dual.groups) == (*expected.target.shape, len(expected.totals))


@every_model
def test_a_weight_for_all_is_that_weight_for_each(model, rng):
    y = labels(rng, model, 12)
    for one, each in zip(
        (build(model, y, np.float64(0.5)), build(model, y, 0.5)),
        (build(model, y, np.full(12, 0.5)),) * 2,
        strict=True,
    ):
        for name in ("target", "lower", "upper", "group", "total"):
            assert np.array_equal(getattr(one, name), getattr(each, name)), name


@every_model
def test_a_dual_owns_its_arrays(model, rng):
    """What the caller does to labels and weights afterwards does not matter."""
    y, weight = labels(rng, model, 12), np.ones(12)
    dual, again = build(model, y, weight), build(model, y.copy(), weight.copy())
    y[:], weight[:] = 7.0, 7.0
    for name in ("target", "lower", "upper", "group", "total"):
        assert np.array_equal(getattr(dual, name), getattr(again, name)), name


def test_integer_labels():
    dual = formulations.c_svc(np.array([1, -1, 1]), 2)
    assert dual.target.dtype == dual.upper.dtype == np.float64
    assert dual.upper.tolist() == [[2.0, 0.0, 2.0]]
    assert dual.lower.tolist() == [[0.0, -2.0, 0.0]]


# -- points ------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 50), model=st.sampled_from(MODELS),
    part=st.sampled_from([0.001, 0.5, 1.0]), power=st.integers(-6, 6),
)  # fmt: skip
def test_the_feasible_point_is_feasible(seed, n, model, part, power):
    """For every nu up to the largest, any weights, any C."""
    rng = np.random.default_rng(seed)
    y, weight = labels(rng, model, n), rng.choice([0.0, 0.5, 1.0, 3.0], n)
    weight[np.argmax(y)] = weight[np.argmin(y)] = 1.0
    nu = part
    if model == "nu_svc":
        nu *= 2 * min(weight[y > 0].sum(), weight[y < 0].sum()) / weight.sum()
    scale = 10.0**power  # of the boxes: C, or the weights where there is no C
    dual = build(model, y, weight if model.endswith("svr") else scale * weight, C=scale, nu=nu)
    beta = dual.feasible_point()
    assert beta.shape == dual.target.shape
    assert (beta >= dual.lower).all()
    assert (beta <= dual.upper).all()
    assert kkt.feasibility(in_reference_terms(dual), beta) <= TOL.feasibility


@pytest.mark.parametrize("model", MODELS)
def test_a_feasible_point_by_scores_fills_the_boxes_that_are_farthest_beyond_the_bias(model, rng):
    dual = build(model, labels(rng, model, 30), rng.random(30) + 0.5)
    score = rng.normal(size=30)
    beta, F = dual.feasible_point(score), dual.indicator(score)
    assert kkt.feasibility(in_reference_terms(dual), beta) <= TOL.feasibility
    for g, total in enumerate(dual.total):
        mine, gain = dual.group == g, np.sign(total) * F
        assert gain[mine & (beta == 0)].max(initial=-np.inf) <= gain[mine & (beta != 0)].min(
            initial=np.inf
        )


def test_zero_where_zero_is_feasible(rng):
    for model in ("c_svc", "eps_svr"):
        assert not build(model, labels(rng, model, 12), np.ones(12)).feasible_point().any()


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6])
def test_a_sum_that_does_not_fit(scale):
    """Whatever the scale of the boxes."""
    with pytest.raises(ValueError, match="does not fit"):
        formulations.one_class(10, 1.5, scale).feasible_point()
    assert formulations.one_class(10, 1.0, scale).feasible_point().sum() == pytest.approx(
        10 * scale, rel=TOL.feasibility
    )


def any_dual(rng, model: str, n: int) -> duals.Dual:
    """With boxes of all sizes, some of them empty, and any nu that fits."""
    y, weight = labels(rng, model, n), rng.choice([0.0, 1e-3, 0.5, 1.0, 30.0], n)
    weight[np.argmax(y)] = weight[np.argmin(y)] = 1.0
    nu = rng.choice([1e-3, 0.5, 1.0])
    if model == "nu_svc":
        nu *= 2 * min(weight[y > 0].sum(), weight[y < 0].sum()) / weight.sum()
    return build(model, y, weight, C=float(10 ** rng.uniform(-4, 4)), nu=nu)


nearest_cases = given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 50), model=st.sampled_from(MODELS),
    size=st.sampled_from([0.0, 1e-6, 1.0, 1e12]),
)  # fmt: skip


@nearest_cases
def test_the_nearest_point_is_feasible(seed, n, model, size):
    """Of whatever point: one far outside, zero, or one that is nearly feasible itself."""
    rng = np.random.default_rng(seed)
    dual = any_dual(rng, model, n)
    beta = size * rng.normal(size=dual.target.shape)
    if rng.random() < 0.5:
        beta += random_feasible(in_reference_terms(dual), rng)
    before = beta.copy()
    found = dual.nearest(beta)
    assert np.array_equal(beta, before)
    assert (found >= dual.lower).all()
    assert (found <= dual.upper).all()
    assert kkt.feasibility(in_reference_terms(dual), found) <= TOL.feasibility


@nearest_cases
def test_the_nearest_point_of_a_feasible_one_is_itself(seed, n, model, size):
    rng = np.random.default_rng(seed)
    dual = any_dual(rng, model, n)
    beta = random_feasible(in_reference_terms(dual), rng)
    found = dual.nearest(beta)
    slack = TOL.exact * n * np.abs(dual.upper - dual.lower).max()
    np.testing.assert_allclose(found, beta, rtol=0, atol=slack)
    moved = dual.nearest(beta + 1e-9 * size * rng.normal(size=beta.shape))
    assert np.abs(moved - beta).sum() <= 3e-9 * size * n * dual.layers * 5 + n * slack


def test_the_nearest_point_of_a_scaled_one_keeps_its_bounds():
    """A warm start with twice the C: what was at its bound may move on, what was zero stays so."""
    y = np.array([1.0, 1.0, -1.0, -1.0])
    beta = np.array([[1.0, 0.0, -1.0, 0.0]])
    assert np.array_equal(formulations.c_svc(y, 2.0).nearest(2 * beta), 2 * beta)
    assert np.array_equal(formulations.c_svc(y, 0.5).nearest(beta), 0.5 * beta)


def test_in_the_nearest_point_zeros_stay_zero_where_the_others_can_move():
    dual = formulations.c_svc(np.array([1.0, 1.0, 1.0, -1.0, -1.0]), 4.0)
    found = dual.nearest(np.array([[2.0, 0.0, 1.0, -1.0, 0.0]]))
    assert (found == 0).tolist() == [[False, True, False, False, True]]
    only = dual.nearest(np.array([[4.0, 0.0, 0.0, 0.0, 0.0]]))  # nobody else is there to give way
    assert (only == 0).all()


@every_model
def test_objective(model, rng):
    n = 25
    y, G = labels(rng, model, n), rng.normal(size=(n, 4))
    K = G @ G.T
    dual = build(model, y, rng.choice([0.5, 1.0, 2.0], n))
    for _ in range(5):
        beta = random_feasible(in_reference_terms(dual), rng)
        found = dual.objective(beta, K @ beta.sum(axis=0))
        expected = kkt.dual_objective(K, in_reference_terms(dual), beta)
        terms = np.abs(dual.target * beta).sum() + abs(float(kkt.quadratic(K, beta)))
        assert found == pytest.approx(expected, abs=TOL.exact * n * terms)
    assert dual.objective(np.zeros_like(dual.target), np.zeros(n)) == 0.0


@every_model
def test_the_indicator_is_the_gradient_of_the_objective(model, rng):
    n = 25
    y, G = labels(rng, model, n), rng.normal(size=(n, 4))
    K, dual = G @ G.T, build(model, y, np.ones(1))
    for _ in range(5):
        beta, change = rng.normal(size=(2, *dual.target.shape))
        score = K @ beta.sum(axis=0)
        moved = dual.objective(beta + change, score + K @ change.sum(axis=0))
        linear = float((dual.indicator(score) * change).sum())
        size = np.abs(K).sum() * (1 + np.abs(beta).max() + np.abs(change).max()) ** 2
        expected = dual.objective(beta, score) + linear - float(kkt.quadratic(K, change))
        assert moved == pytest.approx(expected, abs=TOL.exact * n * size)


@every_model
def test_select(model, rng):
    dual = build(model, labels(rng, model, 12), np.arange(1.0, 13.0))
    rows = np.array([7, 0, 7, 11])
    part = duals.select(dual, rows)
    for name in ("target", "lower", "upper", "group"):
        assert np.array_equal(getattr(part, name), getattr(dual, name)[:, rows])
        assert getattr(part, name).flags.c_contiguous
    assert part.total is dual.total
    assert part.rows == 4


@every_model
def test_join_undoes_split(model, rng):
    dual = any_dual(rng, model, 20)
    parts = duals.split(dual, [3, 1, 16], [dual.total] * 3)
    assert [part.rows for part in parts] == [3, 1, 16]
    again = duals.join(parts)
    for name in ("target", "lower", "upper", "group", "total"):
        assert np.array_equal(getattr(again, name), getattr(dual, name))


@every_model
def test_join_undoes_select(model, rng):
    dual = build(model, labels(rng, model, 12), np.arange(1.0, 13.0))
    parts = [duals.select(dual, ids) for ids in np.array_split(np.arange(12), [1, 5, 5])]
    whole = duals.join(parts)
    for name in ("target", "lower", "upper", "group", "total"):
        assert np.array_equal(getattr(whole, name), getattr(dual, name))
        assert getattr(whole, name).dtype == getattr(dual, name).dtype


# -- a diagonal term ---------------------------------------------------------------------------


def squared(rng, n=12) -> duals.Dual:
    """Return the dual of a squared hinge."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return formulations.CSVC(loss="squared").dual(y, rng.uniform(0.5, 5.0, n))


def test_the_diagonal_goes_with_its_rows(rng):
    dual = squared(rng)
    assert np.array_equal(duals.select(dual, np.array([7, 0])).diagonal, dual.diagonal[[7, 0]])
    parts = duals.split(dual, [5, 7], [dual.total] * 2)
    assert np.array_equal(duals.join(parts).diagonal, dual.diagonal)


def test_squared_losses_have_feasible_points(rng):
    dual = replace(squared(rng), total=np.array([2.5]))
    for beta in (dual.feasible_point(), dual.nearest(rng.normal(size=(1, 12)))):
        assert beta.sum() == pytest.approx(2.5, rel=TOL.exact * 12)
        assert ((dual.lower <= beta) & (beta <= dual.upper)).all()


# -- nu ----------------------------------------------------------------------------------------


def largest_named(error: Exception) -> float:
    """The nu that the message says is possible."""
    return float(re.search(r"largest possible nu .* is ([0-9.e+-]+)$", str(error))[1])


@pytest.mark.parametrize(
    ("positive", "negative", "largest"), [(3, 7, 0.6), (5, 5, 1.0), (1, 99, 0.02), (4, 3, 6 / 7)]
)
def test_a_nu_too_large_for_the_labels(positive, negative, largest):
    y = np.repeat([1.0, -1.0], [positive, negative])
    with pytest.raises(ValueError, match="nu=") as caught:
        formulations.nu_svc(y, largest * 1.01)
    assert largest_named(caught.value) == pytest.approx(largest, rel=TOL.printed)
    for nu in (largest, largest_named(caught.value)):  # who takes the advice succeeds
        assert formulations.nu_svc(y, nu).feasible_point().shape == (1, positive + negative)


@given(
    weight=st.lists(st.floats(0.01, 10), min_size=2, max_size=30), seed=st.integers(0, 2**32 - 1)
)
def test_the_largest_nu_is_feasible_whatever_its_rounding(weight, seed):
    rng = np.random.default_rng(seed)
    weight = np.array(weight)
    y = rng.choice([-1.0, 1.0], len(weight))
    y[:2] = [-1.0, 1.0]
    nu = 2 * min(weight[y > 0].sum(), weight[y < 0].sum()) / weight.sum()
    dual = formulations.nu_svc(y, nu, weight)
    assert kkt.feasibility(in_reference_terms(dual), dual.feasible_point()) <= TOL.feasibility
