"""Bounds on rounding: exact scores and violations lie within them, and they are not idle."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import widestreet as ws
from conftest import TOL
from widestreet import _core
from widestreet._src.certificate import examine
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import (
    RBF,
    Callable,
    Laplacian,
    Linear,
    Poly,
    Precomputed,
    Sigmoid,
)
from widestreet._src.kernels.rounding_bounds import RBFBound
from widestreet._src.problems.formulations import c_svc, one_class
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import KernelRows, as_rows
from widestreet.online import OnlineSVC

pytestmark = pytest.mark.numeric

WIDE = np.longdouble
extended = pytest.mark.skipif(
    np.finfo(WIDE).eps > 1e-18, reason="long double is not wider than double on this platform"
)
KERNELS = [
    Linear(),
    RBF(0.5),
    RBF(1e5),  # computed from differences
    Laplacian(0.5),
    Poly(0.5, 1.0, 3),
    Sigmoid(0.01, 0.1),
]


def exact_values(kernel, X, S):
    """Kernel values in extended precision, by their definitions."""
    X, S = X.astype(WIDE), S.astype(WIDE)
    match kernel:
        case RBF(gamma):
            return np.exp(-WIDE(gamma) * ((X[:, None] - S) ** 2).sum(axis=2))
        case Laplacian(gamma):
            return np.exp(-WIDE(gamma) * np.abs(X[:, None] - S).sum(axis=2))
        case Poly(gamma, coef0, degree):
            return (WIDE(gamma) * (X @ S.T) + WIDE(coef0)) ** degree
        case Sigmoid(gamma, coef0):
            return np.tanh(WIDE(gamma) * (X @ S.T) + WIDE(coef0))
        case _:
            return X @ S.T


def random_rows(rng, n=40):
    """Rows of any scale and offset, of few or many features."""
    d = int(rng.choice([1, 3, 30, 100]))
    scale = 10.0 ** rng.uniform(-3, 3)
    X = scale * rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    return X + rng.choice([0.0, 1.0, 100.0]) * scale


# -- scores ------------------------------------------------------------------------------------


@extended
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@given(seed=st.integers(0, 2**32 - 1), isa=st.sampled_from(_core.instruction_sets()))
def test_exact_scores_lie_within_both_bounds(kernel, seed, isa):
    rng = np.random.default_rng(seed)
    X = random_rows(rng)
    coef = rng.normal(size=len(X)) * 10.0 ** rng.uniform(-6, 6, len(X))
    coef[-1] -= coef.sum()
    rows = as_rows(X, centred=kernel.translation_invariant or bool(rng.integers(2)))
    if rng.integers(2):
        rows = as_rows(sparse.csr_matrix(X * (rng.random(X.shape) < 0.5)))
    dense = rows.data.toarray() if sparse.issparse(rows.data) else rows.data
    gram, before = Gram(kernel, rows), _core.instruction_set()
    _core.force_instruction_set(isa)
    try:
        score = gram.scan(None, np.arange(len(X)), coef)
    finally:
        _core.force_instruction_set(before)
    centre = getattr(rows, "centre", None)
    offset = np.zeros(dense.shape[1], WIDE) if centre is None else centre.astype(WIDE)
    exact = exact_values(kernel, dense.astype(WIDE) - offset, dense.astype(WIDE) - offset)
    error = np.abs(exact @ coef.astype(WIDE) - score)
    size, net = float(np.abs(coef).sum()), fsum(coef.tolist())
    crude = float(gram.score_error(len(coef), size, net))
    by_row = gram.score_errors(None, np.arange(len(X)), coef)
    assert (error <= crude).all()
    assert (error <= by_row).all()
    assert (by_row <= (1 + TOL.exact * len(X)) * crude).all()


def rows_on_a_grid(rng, kind):
    """Rows with values of few levels: integers, fractions, other origins, zeros and ones."""
    n, d = 1100, int(rng.choice([120, 133]))
    levels = rng.integers(0, 256, (n, d)) * (rng.random((n, d)) < rng.choice([0.2, 1.0]))
    match kind:
        case "integers":
            return levels.astype(rng.choice([np.float32, np.float64]))
        case "fractions":
            return levels / 255.0
        case "float32":
            return (levels / 255.0).astype(np.float32)
        case "shifted":
            return 3.0 * levels / 255.0 - 1.0
        case "binary":
            return (levels > 128) * 0.3
        case _:
            return sparse.csr_matrix((levels > 128) * 1.0)


@extended
@pytest.mark.parametrize(
    "kind", ["integers", "fractions", "float32", "shifted", "binary", "sparse binary"]
)
@pytest.mark.parametrize("name", ["rbf", "poly", "sigmoid"])
@given(seed=st.integers(0, 2**32 - 1), isa=st.sampled_from(_core.instruction_sets()))
def test_scores_of_levels_lie_within_the_bounds(kind, name, seed, isa):
    rng = np.random.default_rng(seed)
    X = rows_on_a_grid(rng, kind)
    rows = as_rows(X, centred=name == "rbf")
    assert rows.grid is not None
    square = rows.largest_square(1)
    gamma = float(rng.choice([0.1, 1.0, 30.0])) / square
    kernel = {"rbf": RBF(gamma), "poly": Poly(gamma, 1.0, 3), "sigmoid": Sigmoid(gamma, 0.1)}[name]
    I, J = rng.choice(len(rows.squares()), 20), rng.choice(len(rows.squares()), 30, replace=False)
    coef = rng.normal(size=30) * 10.0 ** rng.uniform(-3, 3, 30)
    gram, before = Gram(kernel, rows), _core.instruction_set()
    _core.force_instruction_set(isa)
    try:
        score = gram.scan(I, J, coef)
        rough = gram.rough_scan(I, J, coef)
    finally:
        _core.force_instruction_set(before)
    dense = X.toarray() if sparse.issparse(X) else X
    exact = exact_values(kernel, dense[I], dense[J]) @ coef.astype(WIDE)
    error = np.abs(exact - score)
    size, net = float(np.abs(coef).sum()), fsum(coef.tolist())
    assert (error <= float(gram.score_error(30, size, net))).all()
    assert (error <= gram.score_errors(I, J, coef)).all()
    if name == "rbf":
        assert (np.abs(rough[0] - exact) <= rough[1]).all()
        assert (rough[1] <= 1e-4 * size).all()


@extended
@pytest.mark.parametrize("features", [20, 33, 300, 5000])
def test_equal_features_whose_roundings_add_up(features, rng):
    """Every addition of a norm of equal features rounds in the same direction for a while."""
    sign = np.where(rng.random((20, features)) < 0.5, 1.0, -1.0)
    for a in 0.01 + rng.random(20):
        X = a * np.concatenate([sign, -sign])
        gram = Gram(RBF(1.0 / (features * a * a)), as_rows(X))
        exact = exact_values(gram.kernel, X, X).sum(axis=1)
        error = np.abs(exact - gram.scan(None, np.arange(40), np.ones(40)))
        assert (error <= gram.score_errors(None, np.arange(40), np.ones(40))).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_bounds_are_small_for_scaled_rows(kernel, rng):
    """Scores of a thousand rows of size one are known to ten digits and more."""
    X, coef = rng.normal(size=(1000, 20)) / np.sqrt(20), rng.normal(size=1000)
    gram = Gram(kernel, as_rows(X, centred=True))
    largest = np.abs(gram.block()).max()
    bound = float(gram.score_error(1000, float(np.abs(coef).sum()), 0.0))
    assert bound <= 1e-10 * np.abs(coef).sum() * largest


@pytest.mark.parametrize("kernel", [Laplacian(1.0), RBF(1.0)], ids=str)
@pytest.mark.parametrize("features", [1000, 20_000])
def test_sums_of_sparse_rows_start_from_their_norms(kernel, features):
    """K(x, x) = 1, computed as the sum of many numbers that are no binary fractions."""
    x = np.repeat([0.1, 0.3], features // 2)
    gram = Gram(kernel, as_rows(sparse.csr_matrix(np.vstack([x] * 4))))
    value = gram.scan(np.arange(1), np.arange(1), np.ones(1))[0]
    assert abs(value - 1.0) <= gram.score_error(1, 1.0, 1.0)


@pytest.mark.parametrize("gamma", [0.0, 1e-320])
def test_all_values_of_an_rbf_kernel_are_one(gamma, rng):
    """The exponent has no rounding."""
    gram = Gram(RBF(gamma), as_rows(rng.normal(size=(40, 3))))
    coef = rng.normal(size=40)
    bound = gram.score_error(40, float(np.abs(coef).sum()), float(abs(coef.sum())))
    assert 0 < bound < 1e-10
    assert (np.abs(gram.scan(None, np.arange(40), coef) - fsum(coef)) <= bound).all()


@pytest.mark.parametrize(("degree", "scale"), [(60, 1e3), (30, 1e5)])
def test_powers_that_overflow_are_refused(degree, scale, rng):
    X, y = scale * rng.normal(size=(20, 3)), np.repeat([0, 1], 10)
    options = {"kernel": "poly", "degree": degree, "gamma": 1.0, "coef0": 1.0}
    for make in (ws.SVC, OnlineSVC):
        with pytest.raises(ValueError, match=f"degree={degree}.*scale X"):
            make(**options).fit(X, y)
    with pytest.raises(ValueError, match=f"degree={degree}.*scale X"):
        OnlineSVC(**options).fit(1e-3 * X / scale, y).partial_fit(X, y)


@pytest.mark.parametrize("source", ["precomputed", "function"])
def test_values_of_other_sources_count_as_exact(source, rng):
    X = rng.normal(size=(50, 3))
    K = X @ X.T
    if source == "precomputed":
        gram = Gram(Precomputed(), KernelRows(K, np.arange(50)))
    else:
        gram = Gram(Callable(lambda A, B: A @ B.T), as_rows(X))
    coef = rng.normal(size=50)
    score = gram.scan(None, np.arange(50), coef)
    error = np.abs(K.astype(WIDE) @ coef.astype(WIDE) - score)
    assert (error <= gram.score_errors(None, np.arange(50), coef)).all()
    assert (error <= gram.score_error(50, float(np.abs(coef).sum()), float(coef.sum()))).all()


@extended
def test_coefficients_that_do_not_sum_to_zero_are_off_centre(rng):
    """The bound holds against rows as they are, up to a constant that the bias takes up."""
    X = rng.normal(size=(60, 4)) + 1000.0
    coef = rng.normal(size=60)
    gram = Gram(Linear(), as_rows(X, centred=True))
    raw = exact_values(Linear(), X, X) @ coef.astype(WIDE)
    difference = raw - gram.scan(None, np.arange(60), coef)
    bound = float(gram.score_error(60, float(np.abs(coef).sum()), float(coef.sum())))
    assert np.ptp(difference) <= 2 * bound


# -- violations ----------------------------------------------------------------------------------


@extended
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5), Poly(1.0, 1.0, 3)], ids=str)
@given(seed=st.integers(0, 2**32 - 1), sharp=st.booleans())
def test_the_exact_violation_is_within_the_rounding(kernel, seed, sharp):
    rng = np.random.default_rng(seed)
    X = random_rows(rng)
    y = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0)
    C = 10.0 ** rng.uniform(-2, 6)
    dual = c_svc(y, C)
    beta = np.where(rng.random(len(X)) < 0.5, rng.uniform(0, 1, len(X)), 0.0) * C * y
    beta = dual.nearest(beta[None])
    gram = Gram(kernel, as_rows(X, centred=kernel.translation_invariant))
    found = examine(gram, dual, beta)
    if sharp:
        found = examine(gram, dual, beta, goal=Goal(found.violation))
    K = exact_values(kernel, X, X)
    F = y.astype(WIDE) - K @ beta[0].astype(WIDE)
    own = 8 * len(X) * np.finfo(WIDE).eps * (np.abs(K) @ np.abs(beta[0])).max()
    violation = F[beta[0] < dual.upper[0]].max() - F[beta[0] > dual.lower[0]].min()
    assert abs(max(violation, 0) - found.violation) <= found.rounding + 2 * own


def test_a_violation_that_rounding_hides_is_not_optimal():
    """Rows far from the origin with a polynomial kernel: values of 1e24, terms that cancel."""
    rng = np.random.default_rng(0)
    X = 1e4 + rng.normal(size=(40, 2))
    dual = c_svc(np.where(X[:, 0] > 1e4, 1.0, -1.0), 1.0)
    found = examine(Gram(Poly(1.0, 0.0, 3), as_rows(X)), dual, np.zeros((1, 40)), goal=Goal(3.0))
    assert found.meets(Goal(3.0))  # at zero nothing cancels
    beta = dual.nearest(1e-3 * dual.target)
    found = examine(Gram(Poly(1.0, 0.0, 3), as_rows(X)), dual, beta)
    generous = 1.5 * found.violation
    assert found.rounding > 0
    hidden = 0.5 * found.rounding + found.violation
    assert found.certificate("optimal", Goal(hidden)).status == "stalled"
    assert found.certificate("optimal", Goal(hidden)).limited_by_rounding
    assert found.certificate("optimal", Goal(generous)).status == "optimal"


def test_a_fit_that_float64_cannot_judge_says_so():
    """Both rows are exactly at the margin, but a tol below the rounding of one proves nothing."""
    model = ws.SVC(kernel="precomputed", C=10.0, tol=1e-17)
    with pytest.warns(ConvergenceWarning, match="the rounding error of the violation in float64"):
        model.fit(np.eye(2), [-1, 1])
    assert model.certificate_.kkt_violation == 0.0
    assert model.certificate_.status == "stalled"
    assert model.certificate_.limited_by_rounding
    assert "by rounding" in str(model.certificate_)


def test_groups_without_variables_have_no_violation():
    """All variables of a one-class problem may shrink, none may grow."""
    X = np.arange(5.0)[:, None]
    dual = one_class(5, 1.0)
    found = examine(Gram(RBF(1.0), as_rows(X)), dual, dual.upper.copy(), goal=Goal(1e-3))
    assert found.violation == 0.0
    assert found.meets(Goal(1e-3, 0.01))


@pytest.mark.parametrize("gamma", [1e-6, 1e-3, 0.05, 0.5, 5.0])
@pytest.mark.parametrize("error", [1e-9, 1e-3, 0.1, 1.0])
@pytest.mark.parametrize("squares", [(0.0, 0.0), (0.0, 9.0), (4.0, 4.0)])
def test_deviations_from_a_grid_are_bounded_up_to_any_size(gamma, error, squares):
    """Rows on a line through the origin deviate towards each other; few vectors may be typical."""
    x, s = np.sqrt(squares)
    bound = RBFBound(0.0, 0.0, np.inf)
    for typical in (0.0, 1.0, sum(squares)):
        off = bound.off_grid(gamma, error, typical).relative(sum(squares))
        for distance in (x + s, abs(x - s)):
            truth = np.expm1(gamma * (4.0 * error * distance + 4.0 * error**2))
            assert truth <= off
