"""Incremental nu-SVR: every sample ends at the optimum, whatever it meets on its way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL, chosen_rng
from reference import duals
from reference.kernels import matrix
from reference.qp import solve_qp
from widestreet._src.engines.insvr import stages as insvr
from widestreet._src.engines.insvr.extended_set import MARGIN
from widestreet._src.engines.insvr.stages import Insvr

LD = np.longdouble
KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 1.0},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
}
SCALINGS = ("schoelkopf", "libsvm")
PARAMETERS = ((0.1, 100.0), (0.3, 1.0), (0.6, 10.0), (0.9, 1.0), (0.9, 100.0))  # nu and C
GRID = [(s, k, nu, C) for s, k, (nu, C) in product(SCALINGS, KERNELS, PARAMETERS)]
every_case = pytest.mark.parametrize(("scaling", "kernel", "nu", "C"), GRID)
every_scaling = pytest.mark.parametrize("scaling", SCALINGS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def problem(kernel: str, n: int, seed: int = 0, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A kernel matrix and targets: a wave with noise."""
    rng = chosen_rng(seed)  # the special cases are met on these samples
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X.sum(axis=1)) + 0.3 * rng.normal(size=n)
    return matrix(X=X, **KERNELS[kernel]), y


def arrivals(machine: Insvr, K, y) -> Iterator[int]:
    """Add all samples; the number there are after each."""
    for i in range(len(y)):
        machine.add(K[:i, i], K[i, i], y[i])
        yield i + 1


def trained(K, y, *args, **kwargs) -> Insvr:
    machine = Insvr(*args, **kwargs)
    machine.load(K, y)
    return machine


def violation(machine: Insvr, K, y) -> float:
    """The conditions (10), from alpha, bias and tube alone, relative to the targets."""
    l = len(y)
    scale = LD(1) / l if machine.scaling == "schoelkopf" else LD(1)
    alpha = machine.alpha.astype(LD)
    f = scale * (K[:l, :l].astype(LD) @ (alpha[0] - alpha[1])) + machine.bias - y
    g = np.stack([f, -f]) + machine.tube
    wrong = np.where(alpha == 0, -g, np.where(alpha == machine.C, g, np.abs(g)))
    return float(max(wrong.max(), 0) / max(1.0, np.abs(y).max()))


def assert_optimal(machine: Insvr, K, y) -> None:
    alpha, total = machine.alpha, machine.C * machine.nu * len(y)
    assert violation(machine, K, y) <= TOL.insvr_violation
    assert alpha.min() >= 0
    assert alpha.max() <= machine.C
    assert abs(alpha.sum() - total) <= TOL.insvr_sum * total
    assert abs(alpha[0].sum() - alpha[1].sum()) <= TOL.insvr_sum * total
    assert machine.tube >= -TOL.insvr_tube
    scale = 1 / len(y) if machine.scaling == "schoelkopf" else 1.0
    np.testing.assert_allclose(machine.coef, scale * (alpha[0] - alpha[1]), atol=0, rtol=TOL.exact)


def decision(machine: Insvr, K) -> np.ndarray:
    l = len(machine.coef)
    return K[:l, :l] @ machine.coef + machine.bias


def programme(K, y, scaling: str, nu: float, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Decision values by the dense QP in LIBSVM's scale, and alpha in that of the paper."""
    l = len(y)
    box = C / l if scaling == "schoelkopf" else C
    qp = duals.nu_svr(K, y, box, nu)
    a = solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper).a
    score = K @ qp.coef(a)
    middle = []  # of what b + e and -b + e may be
    for sign, side in zip((1, -1), a.reshape(2, l) / box, strict=True):
        needed = sign * (y - score)
        zero, full = side < TOL.decision, side > 1 - TOL.decision
        free = ~(zero | full)
        ends = needed[free] if free.any() else [needed[zero].max(), needed[full].min()]
        middle.append(np.mean(ends))
    return score + (middle[0] - middle[1]) / 2, a.reshape(2, l) * (C / box)


# -- every sample ends at the optimum --------------------------------------------------------------


@every_case
def test_every_sample_ends_at_the_optimum(scaling, kernel, nu, C):
    """By an independent look at the conditions; and the inverses are ones after every change."""
    K, y = problem(kernel, 25)
    machine = Insvr(C, nu, scaling, debug=True)
    total = Counter()
    for l in arrivals(machine, K, y):
        assert_optimal(machine, K, y[:l])
        total.update(asdict(machine.last))
        if l > 1:
            assert (machine.last.ia >= 1) == (scaling == "schoelkopf")
            assert machine.last.raia + machine.last.sra >= 1  # the sum asked for has grown
    assert machine.inverse_error <= TOL.inverse
    assert asdict(machine.counts) == dict(total)


@every_case
def test_decision_values_are_those_of_the_quadratic_programme(scaling, kernel, nu, C):
    K, y = problem(kernel, 9, seed=1)
    machine = Insvr(C, nu, scaling)
    for l in arrivals(machine, K, y):
        expected, _ = programme(K[:l, :l], y[:l], scaling, nu, C)
        scale = max(1.0, np.abs(y).max())
        np.testing.assert_allclose(
            decision(machine, K), expected, atol=TOL.decision * scale, rtol=0
        )


@every_scaling
@every_kernel
@pytest.mark.parametrize("nu", [0.3, 0.9])
def test_the_order_of_arrival_does_not_matter(scaling, kernel, nu, rng):
    K, y = problem(kernel, 20, seed=2)
    first = trained(K, y, 10.0, nu, scaling)
    order = rng.permutation(len(y))
    again = trained(K[np.ix_(order, order)], y[order], 10.0, nu, scaling)
    there = decision(again, K[np.ix_(order, order)])
    np.testing.assert_allclose(there, decision(first, K)[order], atol=TOL.decision, rtol=0)
    assert again.tube == pytest.approx(first.tube, abs=TOL.decision)


@every_kernel
def test_the_two_scalings_are_one_problem(kernel):
    """C of the paper is l times LIBSVM's."""
    K, y = problem(kernel, 20, seed=3)
    paper, libsvm = trained(K, y, 20.0, 0.4), trained(K, y, 1.0, 0.4, "libsvm")
    np.testing.assert_allclose(decision(paper, K), decision(libsvm, K), atol=TOL.decision, rtol=0)
    assert paper.tube == pytest.approx(libsvm.tube, abs=TOL.decision)


@every_scaling
@every_kernel
def test_epsilon_changes_neither_the_solution_nor_the_path(scaling, kernel):
    K, y = problem(kernel, 20, seed=4)
    machines = [trained(K, y, 10.0, 0.3, scaling, epsilon) for epsilon in (-1.0, -1e-2, -1e2)]
    for machine in machines[1:]:
        assert machine.counts == machines[0].counts
        np.testing.assert_allclose(machine.alpha, machines[0].alpha, atol=TOL.decision, rtol=0)


@every_scaling
@pytest.mark.parametrize("nu", [0.2, 0.5, 0.8, 1.0])
def test_nu_bounds_the_fractions(scaling, nu):
    """At most nu of the samples are outside the tube, at least nu on its edge or outside."""
    K, y = problem("rbf", 40, seed=5)
    machine = trained(K, y, 5.0, nu, scaling)
    miss = np.abs(decision(machine, K) - y)
    assert np.mean(miss > machine.tube + TOL.decision) <= nu
    assert np.mean((machine.alpha > 0).any(axis=0)) >= nu
    assert_optimal(machine, K, y)


@every_scaling
def test_a_line_is_found_exactly(scaling):
    X = np.linspace(-1, 1, 9)
    machine = trained(np.outer(X, X), 3 * X + 2, 100.0, 0.5, scaling)
    assert machine.tube == pytest.approx(0, abs=TOL.insvr_tube)
    assert machine.bias == pytest.approx(2, abs=TOL.decision)
    assert X @ machine.coef == pytest.approx(3, abs=TOL.decision)


def test_one_sample_is_met_exactly():
    machine = Insvr(2.0, 0.5)
    machine.add(np.zeros(0), 1.0, 7.0)
    assert (machine.bias, machine.tube) == (7.0, 0.0)
    np.testing.assert_array_equal(machine.alpha, [[0.5], [0.5]])
    np.testing.assert_array_equal(machine.g, np.zeros((2, 1)))


@every_scaling
def test_the_gradient_is_that_of_what_is_reported(scaling):
    K, y = problem("rbf", 20, seed=6)
    machine = trained(K, y, 1.0, 0.6, scaling)
    f = decision(machine, K) - y
    np.testing.assert_allclose(machine.g, np.stack([f, -f]) + machine.tube, atol=TOL.twin, rtol=0)


# -- special cases ---------------------------------------------------------------------------------


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
    """None of the branches is idle, and who passes through one of them ends at the optimum."""
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
def test_many_doubled_samples_are_held_still(scaling):
    """SC-2: an optimum without a tube, in which several samples pull both ways."""
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
            assert not (machine._set.state == MARGIN).any()
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
def test_kernels_of_low_rank_shed_and_exchange(kernel):
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


# -- beginning from several samples ----------------------------------------------------------------


@every_scaling
@every_kernel
@pytest.mark.parametrize("nu", [0.1, 0.6])
def test_beginning_from_an_optimum(scaling, kernel, nu):
    """Also from an interior one, in which dependent variables are all free."""
    K, y = problem(kernel, 20, seed=11)
    _, alpha = programme(K[:15, :15], y[:15], scaling, nu, 10.0)
    machine = Insvr(10.0, nu, scaling)
    machine.load(K[:15, :15], y[:15], alpha)
    assert_optimal(machine, K, y[:15])
    for l in range(15, 20):
        machine.add(K[:l, l], K[l, l], y[l])
        assert_optimal(machine, K, y[: l + 1])
    other = trained(K, y, 10.0, nu, scaling)
    np.testing.assert_allclose(decision(machine, K), decision(other, K), atol=TOL.decision, rtol=0)


def test_what_is_not_an_optimum_is_refused():
    K, y = problem("rbf", 10)
    machine = Insvr(10.0, 0.5)
    with pytest.raises(ValueError, match="alpha is not an optimum: it violates the conditions by"):
        machine.load(K, y, np.full((2, 10), 2.5))


def test_loading_forgets_what_there_was():
    K, y = problem("rbf", 10)
    machine = trained(K, y, 1.0, 0.5)
    machine.load(K[:4, :4], y[:4])
    fresh = trained(K[:4, :4], y[:4], 1.0, 0.5)
    np.testing.assert_array_equal(machine.alpha, fresh.alpha)
    assert machine.counts == fresh.counts
    machine.load(np.zeros((0, 0)), np.zeros(0))
    assert (len(machine.coef), machine.bias, machine.tube) == (0, 0.0, 0.0)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("C", 0.0, r"C must be positive and finite, got 0\.0"),
        ("C", np.inf, "C must be positive and finite, got inf"),
        ("nu", 0.0, r"nu must be in \(0, 1\], got 0\.0"),
        ("nu", 1.5, r"nu must be in \(0, 1\], got 1\.5"),
        ("scaling", "none", 'scaling must be "schoelkopf" or "libsvm", got \'none\''),
        ("epsilon", 0.0, r"epsilon must be negative and finite, got 0\.0"),
    ],
)
def test_parameters_are_checked(name, value, message):
    with pytest.raises(ValueError, match=message):
        Insvr(**({"C": 1.0, "nu": 0.5} | {name: value}))


def test_samples_are_checked():
    K, y = problem("rbf", 5)
    machine = trained(K, y, 1.0, 0.5)
    with pytest.raises(ValueError, match=r"column must have shape \(5,\), got \(4,\)"):
        machine.add(np.zeros(4), 1.0, 0.0)
    for column, own, target in (
        (K[0] * np.nan, 1.0, 0.0),
        (K[0], np.inf, 0.0),
        (K[0], 1.0, np.nan),
    ):
        with pytest.raises(ValueError, match="kernel values and targets must be finite"):
            machine.add(column, own, target)
    with pytest.raises(ValueError, match="kernel values and targets must be finite"):
        machine.load(K * np.nan, y)
    with pytest.raises(ValueError, match="K must be square with a row for each y"):
        machine.load(K, y[:4])
    with pytest.raises(ValueError, match=r"alpha must have shape \(2, 5\), got \(5,\)"):
        machine.load(K, y, np.zeros(5))


def test_giving_up_names_the_cure(monkeypatch):
    K, y = problem("rbf", 5)
    machine = trained(K[:4, :4], y[:4], 1.0, 0.5)
    monkeypatch.setattr(insvr, "_STEPS", 0)
    with pytest.raises(RuntimeError, match='sample 4: not settled in 1 steps; method="path"'):
        machine.add(K[:4, 4], K[4, 4], y[4])
