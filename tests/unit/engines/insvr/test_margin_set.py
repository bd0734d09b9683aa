"""The margin set: which rows its matrix has in each stage, and lines that change no gradient."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.engines.insvr.extended_set import (
    ERROR_VECTOR,
    MARGIN_VECTOR,
    REMAINING_VECTOR,
    ExtendedSet,
)
from widestreet._src.engines.insvr.margin_set import BIAS, TUBE, MarginSet

STAGES = ("ia", "raia", "sra")


def margin_set(X, inside, C: float = 1.0, alpha: float = 0.5) -> MarginSet:
    """A linear kernel; the variables `inside` are in S with the same alpha."""
    K = X @ X.T
    extended = ExtendedSet(C)
    for i in range(len(X)):
        extended.append(K[:i, i], K[i, i], 0.0)
    extended.state[inside] = MARGIN_VECTOR
    extended.alpha[inside] = alpha
    extended.refresh()
    return MarginSet(extended, epsilon=-1.0, debug=True)


@pytest.mark.parametrize(
    ("inside", "rows"),
    [
        ([], {"ia": [], "raia": [], "sra": [TUBE]}),
        ([0, 2], {"ia": [BIAS, 0, 2], "raia": [BIAS, 0, 2], "sra": [BIAS, TUBE, 0, 2]}),
        ([0, 3], {"ia": [BIAS, TUBE, 0, 3], "raia": [BIAS, 0, 3], "sra": [BIAS, TUBE, 0, 3]}),
        ([0, 1], {"ia": [BIAS, TUBE, 0, 1], "raia": [BIAS, 0], "sra": [BIAS, TUBE, 0, 1]}),
        (
            [0, 1, 2, 3],
            {"ia": [BIAS, TUBE, 0, 1, 2], "raia": [BIAS, 0, 2], "sra": [BIAS, TUBE, 0, 1, 2]},
        ),
    ],
    ids=["empty", "one label", "two labels", "doubled", "doubled twice"],
)
def test_each_stage_has_its_rows(inside, rows, rng):
    """From every stage to every other."""
    for first in STAGES:
        for second in STAGES:
            subject = margin_set(rng.normal(size=(4, 5)), inside)
            for stage in (first, second):
                subject.sync(stage)
                assert sorted(subject.bordered.keys) == rows[stage]
                corner = -1.0 if stage == "sra" else 0.0
                if TUBE in subject.bordered:
                    where = subject.bordered.keys.index(TUBE)
                    assert subject.bordered.matrix[where, where] == corner
                assert subject.has_fixed == (len(inside) > sum(key >= 0 for key in rows[stage]))
            assert subject.largest_error <= TOL.inverse
            assert subject.exchanges == 0


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("came_from", [REMAINING_VECTOR, ERROR_VECTOR])
def test_an_equal_sample_is_exchanged(stage, came_from, rng):
    """It enters, the one that it equals leaves or it passes through; no gradient changes."""
    X = rng.normal(size=(4, 5))
    X[3] = X[0]
    subject = margin_set(X, [0, 2, 5])
    s = subject.extended
    s.alpha[6], s.state[6] = (1.0, came_from) if came_from == ERROR_VECTOR else (0.0, came_from)
    s.refresh()
    subject.sync(stage)
    g, sums = s.g.copy(), (s.alpha.sum(), s.z @ s.alpha)
    s.state[6] = MARGIN_VECTOR
    subject.sync(stage)
    assert subject.exchanges == 1
    assert {0, 6} - set(s.margin.tolist()) != set()
    s.refresh()
    np.testing.assert_allclose(s.g, g, atol=TOL.twin, rtol=0)
    assert (s.alpha.sum(), s.z @ s.alpha) == pytest.approx(sums, abs=TOL.twin)
    assert subject.largest_error <= TOL.inverse


def test_a_dependent_variable_is_removed_before_the_sum_may_change(rng):
    """A linear kernel allows d + 2 independent variables with the row of e', d + 1 without."""
    subject = margin_set(rng.normal(size=(5, 2)), [0, 2, 5, 7])
    s = subject.extended
    subject.sync("ia")
    g, balance = s.g.copy(), s.z @ s.alpha
    subject.remove_dependent()
    subject.sync("raia")
    assert subject.exchanges == 1
    assert len(s.margin) == 3
    s.refresh()
    np.testing.assert_allclose(s.g, g, atol=TOL.twin, rtol=0)
    assert s.z @ s.alpha == pytest.approx(balance, abs=TOL.twin)
    assert subject.largest_error <= TOL.inverse


def test_independent_variables_are_not_removed(rng):
    subject = margin_set(rng.normal(size=(5, 6)), [0, 2, 5, 7])
    subject.sync("ia")
    subject.remove_dependent()
    subject.sync("raia")
    assert subject.exchanges == 0
    assert len(subject.extended.margin) == 4


def test_refining_restores_sums_and_gradients(rng):
    subject = margin_set(rng.normal(size=(5, 6)), [0, 2, 5, 7], C=10.0)
    s = subject.extended
    subject.sync("ia")
    for total in (2.0, 2.1):
        subject.refine(total)
        assert s.alpha.sum() == pytest.approx(total, abs=TOL.twin)
        assert s.z @ s.alpha == pytest.approx(0, abs=TOL.twin)
        np.testing.assert_allclose(s.g[s.margin], 0, atol=TOL.twin)
