"""Sums over rows that lie in several places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from support.model_duals import labels
from widestreet._src.problems.formulations import CSVC, EpsilonSVR, NuSVC, NuSVR, OneClass
from widestreet._src.problems.totals import Totals

FIGURES = ("positive", "negative", "mean", "square")


@given(seed=st.integers(0, 2**32 - 1), parts=st.integers(1, 5))
def test_sums_of_parts_are_those_of_all_rows(seed, parts):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    target, box = rng.normal(size=n), rng.choice([0.5, 1.0, 3.0], n)
    whole = Totals.of(target, box)
    owner = np.sort(rng.integers(parts, size=n))
    merged = Totals.merged([Totals.of(target[owner == k], box[owner == k]) for k in range(parts)])
    assert merged.rows == n
    size = float(box.sum() * (1 + np.square(target).max()))
    for name in FIGURES:
        assert getattr(merged, name) == pytest.approx(getattr(whole, name), abs=TOL.twin * size)


@pytest.mark.parametrize(
    "formulation",
    [CSVC(2.0), CSVC(2.0, loss="squared"), NuSVC(0.3), EpsilonSVR(1.0, 0.1), NuSVR(1.0, 0.4),
     EpsilonSVR(1.0, 0.1, loss="squared"), NuSVR(1.0, 0.4, "schoelkopf"), OneClass(0.2)],
)  # fmt: skip
def test_the_dual_of_a_part_has_the_variables_and_sums_of_the_whole(formulation, rng):
    target = (
        labels(rng, "nu_svc", 30) if "SVC" in type(formulation).__name__ else rng.normal(size=30)
    )
    weight = rng.choice([0.5, 1.0], 30)
    box = formulation.box(weight)
    whole = formulation.dual(target, box)
    some = np.arange(7, 19)
    part = formulation.dual(
        target[some], formulation.box(weight[some], float(weight.sum())), Totals.of(target, box)
    )
    for name in ("target", "lower", "upper", "group"):
        np.testing.assert_allclose(
            getattr(part, name), getattr(whole, name)[:, some], rtol=TOL.twin, atol=0
        )
    np.testing.assert_array_equal(part.total, whole.total)
