"""Sums without rounding: however the values are split."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from widestreet import _core
from widestreet._src.certificate import exact_sums
from widestreet._src.certificate.exact_sums import exact_sum, rounded

numbers = st.lists(st.floats(-1e200, 1e200), max_size=40)


@given(values=numbers, cuts=st.lists(st.integers(0, 40), max_size=5))
def test_sums_of_parts_are_the_sum_of_all(values, cuts):
    exact = sum(map(Fraction, values), Fraction(0))
    parts = [exact_sum(part) for part in np.split(np.array(values), np.sort(cuts))]
    assert rounded(parts) == rounded([exact_sum(np.array(values))]) == float(exact)
    assert sum((Fraction(term) for part in parts for term in part), Fraction(0)) == exact


def test_long_arrays_are_added_up_by_threads(rng):
    values = rng.normal(size=300_000) * 10.0 ** rng.uniform(-9, 9, 300_000)
    whole = exact_sum(values)
    assert exact_sum(values, threads=4) == whole
    assert whole == tuple(exact_sums._expansion(values.tolist()))


@given(seed=st.integers(0, 2**32 - 1), widest=st.sampled_from([0, 20, 600]))
def test_long_arrays_are_reduced_to_few_terms_of_the_same_sum(seed, widest):
    rng = np.random.default_rng(seed)
    values = np.ldexp(rng.normal(size=1000), rng.integers(-widest, widest + 1, 1000))
    values[:9] = 5e-324, -5e-324, 2.0**-1022, -1.0, 1.0, 2.0**53, 2.0**-53, 1 / 3, -(2.0**-1074)
    found = _core.exact_terms(values, 1)
    assert sum(map(Fraction, found)) == sum(map(Fraction, values.tolist()))
    assert widest or len(found) < 100
    assert exact_sum(values) == tuple(exact_sums._expansion(values.tolist()))


def test_nothing_is_zero():
    assert exact_sum(np.zeros(3)) == ()
    assert rounded([(), ()]) == 0.0


def test_what_is_no_number_stays_so():
    inf = np.inf
    assert exact_sum(np.array([1.0, inf])) == (inf,)
    assert np.isnan(exact_sum(np.array([np.nan, 1.0]))).all()
    assert np.isnan(rounded([(inf,), (-inf,)]))
    assert exact_sum(np.full(3, 1e308)) == (inf,)
    assert exact_sum(np.full(3000, 1e308)) == (inf,)
    assert np.isnan(exact_sum(np.full(3000, np.nan))).all()
    assert exact_sum(np.r_[np.ones(3000), -inf]) == (-inf,)
    assert np.isnan(exact_sum(np.r_[np.ones(3000), inf, -inf])).all()
