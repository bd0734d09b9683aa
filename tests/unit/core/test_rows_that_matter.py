"""Rows that may affect a certificate, and exact sums, by native passes over all rows."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest

from widestreet import _core
from widestreet._src.problems.formulations import c_svc, eps_svr, nu_svc, nu_svr, one_class

pytestmark = pytest.mark.numeric

Y = np.where(np.arange(60) % 3 == 0, 1.0, -1.0)
DUALS = {
    "c_svc": c_svc(Y, 2.0),
    "nu_svc": nu_svc(Y, 0.3),
    "eps_svr": eps_svr(np.linspace(-1, 1, 60), 2.0, 0.1),
    "nu_svr": nu_svr(np.linspace(-1, 1, 60), 0.4, 2.0),
    "one_class": one_class(60, 0.4),
}
every_dual = pytest.mark.parametrize("name", DUALS)


def expected(dual, rows, score, error, grow, shrink):
    """The rows by the definition, one by one."""
    found = []
    for row in rows:
        for target, lower, upper, g in zip(
            dual.target[:, row],
            dual.lower[:, row],
            dual.upper[:, row],
            dual.group[:, row],
            strict=True,
        ):
            f = target - score[row]
            above = upper > 0 and not f + error[row] < grow[g]
            below = lower < 0 and not f - error[row] > shrink[g]
            if above or below:
                found.append(row)
                break
    return found


@every_dual
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_beyond_the_limits(name, threads, rng):
    dual = DUALS[name]
    n, groups = dual.rows, dual.groups
    score, error = rng.normal(size=n), rng.random(n) * (rng.random(n) < 0.5)
    grow, shrink = rng.normal(size=groups), rng.normal(size=groups)
    score[0], error[1] = np.nan, np.inf
    some = rng.permutation(n)[: n // 2]
    for index in (None, some):
        found = _core.rows_that_matter(
            dual.native(), index, score, error, 0.25, grow, shrink, threads
        )
        every = range(n) if index is None else index.tolist()
        assert found.tolist() == expected(dual, every, score, error + 0.25, grow, shrink)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_rounding_of_the_comparison_is_allowed_for(sign):
    """F is 0.1 - 0.3 in exact arithmetic, which the limit is a unit below or above."""
    one = np.array([[0.1]])
    limit = np.nextafter(0.1 - 0.3, sign * np.inf)
    box = np.array([[min(0.0, sign)]]), np.array([[max(0.0, sign)]])
    dual = _core.Variables(one, *box, np.zeros((1, 1), np.uint8), groups=1)
    for limits, count in ((limit, 1), (limit + sign, 0)):
        given = np.array([limits]), np.array([limits])
        found = _core.rows_that_matter(dual, None, np.array([0.3]), np.zeros(1), 0.0, *given, 1)
        assert len(found) == count


def test_an_infinite_limit_is_beyond_every_number():
    dual = _core.Variables(
        np.ones((1, 1)), np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1), np.uint8), groups=1
    )
    for limit, count in ((np.inf, 0), (-np.inf, 1)):
        given = np.zeros(1), np.zeros(1), 0.0, np.array([limit]), np.zeros(1)
        assert len(_core.rows_that_matter(dual, None, *given, 1)) == count


def test_what_does_not_fit_is_refused():
    dual, n = DUALS["c_svc"].native(), 60
    one, rows = np.zeros(1), np.zeros(n)
    for given in (
        (np.array([n]), rows, rows, 0.0, one, one),
        (None, rows[1:], rows, 0.0, one, one),
        (None, rows, rows, 0.0, np.zeros(2), one),
    ):
        with pytest.raises(ValueError, match=r"needed|range"):
            _core.rows_that_matter(dual, *given, 1)


@every_dual
def test_extreme_targets(name):
    dual = DUALS[name]
    highest = dual.target[dual.upper > 0].max(initial=-np.inf)
    lowest = dual.target[dual.lower < 0].min(initial=np.inf)
    assert _core.extreme_targets(dual.native(), 2) == (highest, lowest)


@pytest.mark.parametrize("threads", [1, 3])
def test_exact_terms(threads, rng):
    values = rng.normal(size=400_000) * 2.0 ** rng.integers(-300, 300, 400_000)
    values[:3] = 5e-324, -(2.0**-1022), 0.0
    values[3:9] = 1.0, -1.0, 2.0**899, -(2.0**899), 2.0**53, -(2.0**-53)
    terms = _core.exact_terms(values, threads)
    assert fsum(terms) == fsum(values)
    assert fsum([*terms, *(-values)]) == 0.0
    assert len(terms) < 10_000


def test_values_that_have_no_exact_terms():
    for value in (np.nan, np.inf, -np.inf, 2.0**900):
        assert _core.exact_terms(np.array([1.0, value]), 1) is None
    assert _core.exact_terms(np.array([np.inf, -np.inf]), 1) is None
    assert _core.exact_terms(np.empty(0), 1) == []


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [0, 1, 500_000])
def test_places_of_true_values(n, threads, rng):
    for part in (0.0, 0.3, 1.0):
        mask = rng.random(n) < part
        assert np.array_equal(_core.places(mask, threads), np.flatnonzero(mask))


def test_true_values_of_any_byte():
    mask = np.array([0, 2, 255, 1, 0], dtype=np.uint8).view(bool)
    assert _core.places(mask, 1).tolist() == [1, 2, 3]


@pytest.mark.parametrize("count", [0, 1, 1000, 10_000, 200_000])
def test_zeros(count):
    used = [np.full(count, np.nan) for _ in range(20)]
    del used  # memory that is used again, where it is not returned to the system
    for _ in range(20):
        found = _core.zeros(count, 2)
        assert found.shape == (count,)
        assert not found.any()
        assert found.flags.writeable
