"""Float32 sums with a tight bound: exact sums lie within it, and it is small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widestreet import _core
from widestreet._src.kernels import bounded_scan
from widestreet._src.kernels.bounded_scan import BoundedScan
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.rounding_bounds import UNIT_FLOAT32
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric

WIDE = np.longdouble
extended = pytest.mark.skipif(
    np.finfo(WIDE).eps > 1e-18, reason="long double is not wider than double on this platform"
)


def scan_of(gamma, rows, J, coef, threads=1):
    """The scan of all rows against some of them."""
    longest = rows.largest_square(1)
    return BoundedScan.of(gamma, rows, rows, J, coef, longest=longest, threads=threads)


def exact_sums(gamma, rows, I, J, coef):
    """Sums in extended precision, from the rows as they are."""
    X = np.asarray(rows.values).astype(WIDE)
    K = np.exp(-WIDE(gamma) * ((X[I][:, None] - X[J]) ** 2).sum(axis=2))
    return K @ coef.astype(WIDE)


@extended
@given(
    seed=st.integers(0, 2**32 - 1),
    isa=st.sampled_from(_core.instruction_sets()),
    features=st.sampled_from([1, 2, 10, 31, 32, 33, 70, 140]),
    single=st.booleans(),
)
def test_exact_sums_lie_within_the_bound(seed, isa, features, single):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3)
    X = scale * (rng.normal(size=(90, features)) * 10.0 ** rng.uniform(-1, 1, features))
    X += rng.choice([0.0, 1.0, 30.0]) * scale
    rows = as_rows(X.astype(np.float32) if single else X, centred=bool(rng.integers(2)))
    gamma = float(rng.choice([1e-3, 0.1, 1.0, 30.0])) / rows.largest_square(1)
    I, J = np.arange(40), np.arange(20, 90)
    coef = rng.normal(size=70) * 10.0 ** rng.uniform(-6, 6, 70)
    if rng.integers(2):
        coef = np.abs(coef)
    before = _core.instruction_set()
    _core.force_instruction_set(isa)
    try:
        found, bound = scan_of(gamma, rows, J, coef).sums(I)
    finally:
        _core.force_instruction_set(before)
    assert (np.abs(found - exact_sums(gamma, rows, I, J, coef)) <= bound).all()
    assert (bound <= 1e-4 * np.abs(coef).sum()).all()


@extended
@pytest.mark.parametrize("features", [7, 20, 64, 100])
def test_roundings_that_all_go_in_one_direction(features, isa, rng):
    """Equal features: every addition of a product rounds in the same direction for a while."""
    sign = np.where(rng.random((20, features)) < 0.5, 1.0, -1.0)
    I, J = np.arange(21), np.arange(20, 41)
    for a in 0.01 + rng.random(20):
        rows = as_rows(a * np.concatenate([sign, -sign, np.ones((1, features))]))
        gamma = float(rng.choice([0.1, 1.0])) / (features * a * a)
        found, bound = scan_of(gamma, rows, J, np.ones(21)).sums(I)
        assert (np.abs(found - exact_sums(gamma, rows, I, J, np.ones(21))) <= bound).all()


def terms_of_errors(scan, I):
    """The errors of all values that the module names, added up one by one in extended precision."""
    scale, grid = bounded_scan._scale(scan.gamma), scan.grid
    rows, vectors = bounded_scan.Operands.of(scan.left, I, scale, grid), scan.vectors
    x, s = rows.features.astype(WIDE)[:, None], vectors.features.astype(WIDE)
    z = 0.5 * ((x - s) ** 2).sum(axis=2)
    products = np.cumsum(x * s, axis=2)
    before = np.concatenate([np.zeros((*z.shape, 1), dtype=WIDE), products], axis=2)
    sums = sum(
        np.abs(before[:, :, end] - before[:, :, a])
        for a, ends in bounded_scan.ranges(s.shape[1]).items()
        for end in ends
    )
    power = bounded_scan._EXPONENTIAL if bounded_scan.fused() else bounded_scan._EXPONENTIAL_UNFUSED
    removed = np.sqrt(2 * z) * (rows.error[:, None] + vectors.error)
    error = power + np.log(WIDE(2)) * (UNIT_FLOAT32 * (sums + z) + removed)
    return (np.exp2(-z) * error) @ np.abs(scan.coef)


@extended
@pytest.mark.parametrize("features", [1, 3, 40])
@pytest.mark.parametrize("apart", [0.0, 0.1, 0.25, 1.0, 4.0])
def test_the_bound_is_at_least_the_sum_of_its_terms(features, apart, isa, rng):
    """Also for rows near all vectors, whose sum of sizes is nearly that of the coefficients."""
    gamma = 0.5 * float(np.log(2))  # rows are not scaled
    for length in (1.0, 4.1, 8.1, 40.0):
        X = np.full((24, features), length / np.sqrt(features))
        X += (
            apart
            / np.sqrt(features)
            * rng.uniform(0.5, 1.5, (24, 1))
            * (np.arange(24) >= 8)[:, None]
        )
        X *= 1 + 1e-6 * rng.random(X.shape)
        for J in (np.arange(8, 24), np.array([8])):
            scan = scan_of(gamma, as_rows(X), J, rng.normal(size=len(J)))
            assert (scan.sums(np.arange(8))[1] >= terms_of_errors(scan, np.arange(8))).all()


@extended
def test_the_exponential_is_as_exact_as_stated(isa, rng):
    """Rows of zeros: the start values are the exponents."""
    z = np.concatenate([-rng.uniform(0, 1, 200_000), -rng.uniform(0, 125, 100_000)])
    z = np.concatenate([z, -np.exp2(-rng.uniform(0, 40, 50_000)), np.arange(-125, 1) / 1.0])
    z = z.astype(np.float32)
    found, sizes = np.zeros(len(z)), np.zeros(len(z))
    _core.bounded_scan(
        left=np.zeros((len(z), 1), np.float32),
        left_start=z,
        right=np.zeros((1, 1), np.float32),
        right_start=np.zeros(1, np.float32),
        coef=np.ones(1),
        weight=np.ones(1, np.float32),
        sums=found,
        sizes=sizes,
        threads=1,
    )
    exact = np.exp2(z.astype(WIDE))
    stated = bounded_scan._EXPONENTIAL
    if not bounded_scan.fused():
        stated = bounded_scan._EXPONENTIAL_UNFUSED
    assert (np.abs(found / exact - 1) <= stated).all()
    assert np.array_equal(found, sizes)


@extended
def test_values_below_the_range_of_float32_are_within_the_bound(isa, rng):
    rows = as_rows(np.concatenate([rng.normal(size=(30, 5)), 9.0 + rng.normal(size=(30, 5))]))
    I, J, coef = np.arange(30), np.arange(30, 60), rng.normal(size=30)
    found, bound = scan_of(0.5, rows, J, coef).sums(I)
    assert (np.abs(found - exact_sums(0.5, rows, I, J, coef)) <= bound).all()
    assert (bound <= 1e-30).all()


@pytest.mark.parametrize("features", [8, 20, 60, 120])
def test_the_bound_is_a_fraction_of_that_for_any_sum(features, rng):
    """Rows in a cube, and coefficients at the two bounds of a box."""
    X, J, I = rng.random((3000, features)), np.arange(2000), np.arange(2000, 3000)
    gram, coef = Gram(RBF(5 / features), as_rows(X, centred=True)), rng.choice([-10.0, 10.0], 2000)
    score, bound = gram.rough_scan(I, J, coef, tight=True)
    weight, part = gram._backend.scan_bound(I, J, coef, double=False)
    crude = part * gram.scan(I, J, weight)
    assert (bound <= crude / 5).all()
    assert (np.abs(score - gram.scan(I, J, coef)) <= bound).all()


def test_several_threads_and_panels_give_the_same_sums(isa, rng):
    rows = as_rows(rng.normal(size=(700, 6)), centred=True)
    I, J, coef = np.arange(500), np.arange(300, 700), rng.normal(size=400)
    one, few = (scan_of(0.1, rows, J, coef, threads) for threads in (1, 3))
    assert np.array_equal(one.sums(I), few.sums(I))


def test_rows_too_long_for_float32_have_no_bound(rng):
    rows = as_rows(rng.normal(size=(20, 3)))
    J, coef = np.arange(20), np.ones(20)
    gamma = 1e6 / rows.largest_square(1)
    assert scan_of(gamma, rows, J, coef) is None
    assert scan_of(1.0, rows, J, 0.0 * coef) is None


@pytest.mark.parametrize("features", [1, 32, 33, 64, 100])
def test_partial_sums_are_the_ranges_of_the_core(features, isa):
    """Each feature is added to its part, and each part to the sum of those before."""
    ends = bounded_scan.ranges(features)
    count = sum(map(len, ends.values()))
    parts = -(-features // 32)
    assert count == features + parts - 1 + (0 if bounded_scan.fused() else features)
    assert max(max(b) for b in ends.values()) == features
    assert all(a < end for a, b in ends.items() for end in b)
