"""The stages of INSVR: special cases, ties and samples that cannot be added."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference.kernels import matrix
from support.insvr_problems import (
    KERNELS,
    SCALINGS,
    arrivals,
    assert_optimal,
    decision,
    every_kernel,
    every_scaling,
    problem,
    programme,
    trained,
)
from widestreet._src.engines.insvr import three_stages
from widestreet._src.engines.insvr.extended_set import MARGIN_VECTOR
from widestreet._src.engines.insvr.insvr import Insvr
from widestreet._src.engines.insvr.three_stages import StageCounts


@pytest.mark.parametrize(
    ("case", "stage", "kernel", "nu", "C"),
    [
        ("conflict_1", "raia", "rbf", 0.9, 1.0),
        ("conflict_2", "sra", "rbf", 0.9, 1.0),
        ("sc_1", "ia", "rbf", 0.6, 1.0),
        ("held", "raia", "rbf", 0.9, 100.0),
        ("empty", "ia", "rbf", 0.9, 1.0),
        ("exchanges", "raia", "linear", 0.6, 100.0),
    ],
)
def test_each_special_case_is_met(case, stage, kernel, nu, C):
    """Every branch is taken, and the sample that takes it ends at the optimum."""
    K, y = problem(kernel, 20)
    machine, met = Insvr(C, nu, debug=True), 0
    for l in arrivals(machine, K, y):
        if getattr(machine.last, case):
            met += 1
            assert getattr(machine.last, stage) > 0
            assert_optimal(machine, K, y[:l])
            expected, _ = programme(K[:l, :l], y[:l], "schoelkopf", nu, C)
            np.testing.assert_allclose(decision(machine, K), expected, atol=TOL.decision, rtol=0)
    assert met > 0
    assert machine.inverse_error <= TOL.inverse


@every_scaling
def test_many_doubled_samples_are_held_fixed(scaling):
    """SC-2: an optimum without a tube, with several samples in S with both sides."""
    K, y = problem("rbf", 14, seed=7)
    C = 100.0 if scaling == "libsvm" else 1300.0
    old = trained(K[:13, :13], y[:13], C, 0.3, scaling)
    assert old.tube == pytest.approx(0, abs=TOL.insvr_tube)
    alpha = old.alpha
    alpha += old.C * old.nu / 2 - alpha.sum(axis=0) / 2  # every sample takes an equal share
    assert alpha.min() > 0
    machine = Insvr(C, 0.3, scaling, debug=True)
    machine.load(K[:13, :13], y[:13], alpha)
    assert len(machine._set.doubled) > 2
    machine.add(K[:13, 13], K[13, 13], y[13])
    assert machine.last.held >= machine.last.sc_2 >= machine.last.raia + machine.last.ia > 0
    assert machine.inverse_error <= TOL.inverse
    assert_optimal(machine, K, y)
    fresh = trained(K, y, C, 0.3, scaling)
    np.testing.assert_allclose(decision(machine, K), decision(fresh, K), atol=TOL.decision, rtol=0)


@every_scaling
def test_an_empty_margin(scaling):
    """A box so small that every alpha is at a bound: b' and e' are intervals."""
    K, y = problem("rbf", 20, seed=8)
    machine = Insvr(1e-3, 0.5, scaling)
    for l in arrivals(machine, K, y):
        assert_optimal(machine, K, y[:l])
        if l % 4 == 0:
            assert not (machine._set.state == MARGIN_VECTOR).any()
            expected, _ = programme(K[:l, :l], y[:l], scaling, 0.5, 1e-3)
            np.testing.assert_allclose(decision(machine, K), expected, atol=TOL.decision, rtol=0)
    assert machine.counts.empty > 0


@every_scaling
@every_kernel
@pytest.mark.parametrize("same_target", [True, False])
def test_repeated_samples(scaling, kernel, same_target):
    """Assumption 1 of the paper excludes them; here they are exchanged."""
    K, y = problem(kernel, 8, seed=9)
    twice = np.tile(np.arange(8), 2)
    K, y = K[np.ix_(twice, twice)], y[twice]
    if not same_target:
        y[8:] += np.linspace(-1, 1, 8)
    machine = Insvr(10.0, 0.4, scaling)
    for l in arrivals(machine, K, y):
        assert_optimal(machine, K, y[:l])
        expected, _ = programme(K[:l, :l], y[:l], scaling, 0.4, 10.0)
        np.testing.assert_allclose(decision(machine, K), expected, atol=TOL.decision, rtol=0)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_kernels_of_low_rank_need_exchanges(kernel):
    K, y = problem(kernel, 30, seed=10)
    machine = trained(K, y, 100.0, 0.4)
    assert machine.counts.exchanges > 0
    assert_optimal(machine, K, y)


@given(
    data=st.data(), n=st.integers(2, 14), d=st.integers(1, 3), kernel=st.sampled_from([*KERNELS]),
    scaling=st.sampled_from(SCALINGS), nu=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    C=st.sampled_from([0.1, 1.0, 100.0]),
)  # fmt: skip
def test_samples_on_a_grid(data, n, d, kernel, scaling, nu, C):
    """Where everything coincides: repeated rows, repeated targets, equal distances."""
    integers = st.lists(st.integers(0, 2), min_size=n * (d + 1), max_size=n * (d + 1))
    values = np.array(data.draw(integers), dtype=np.float64).reshape(n, d + 1)
    K, y = matrix(X=values[:, :d], **KERNELS[kernel]), values[:, d]
    machine = Insvr(C, nu, scaling)
    for l in arrivals(machine, K, y):
        assert_optimal(machine, K, y[:l])


def test_giving_up_names_the_cure(monkeypatch):
    K, y = problem("rbf", 5)
    machine = trained(K[:4, :4], y[:4], 1.0, 0.5)
    monkeypatch.setattr(three_stages, "_STEPS_PER_SAMPLE", 0)
    with pytest.raises(RuntimeError, match='sample 4: not optimal after 1 steps; method="path"'):
        machine.add(K[:4, 4], K[4, 4], y[4])


def test_counts_are_added_field_by_field():
    total = StageCounts(ia=1, held=2)
    total += StageCounts(ia=3, sc_1=5)
    assert total == StageCounts(ia=4, sc_1=5, held=2)
