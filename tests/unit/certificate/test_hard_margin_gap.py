"""The certificate of the hard-margin problem: the figures of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import kernels
from reference.qp import solve_qp
from widestreet._src.certificate import examine_margins
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Callable, Linear
from widestreet._src.rows import as_rows

pytestmark = pytest.mark.numeric

GAMMA = 0.5


def margins(
    X, sign, weight, *, place=None, offset=0.0, status="approximate", part=0.01, kernel=None
):
    gram = Gram(RBF(GAMMA) if kernel is None else kernel, as_rows(X))
    gram = gram.select(place)
    return examine_margins(gram, sign, weight, offset=offset, status=status, part=part)


@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([0.0, 1.0]), st.booleans())
def test_figures_of_weights_are_those_of_the_definition(seed, n, offset, some):
    """Whatever they add up to, wherever the rows stand, and if some of them have none."""
    rng = np.random.default_rng(seed)
    X, place = rng.normal(size=(2 * n, 2)), rng.permutation(2 * n)[:n]
    sign, weight = rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 1.0, n)
    weight[1:][rng.random(n - 1) < 0.5 * some] = 0.0
    a = weight / weight.sum()
    Q = sign[:, None] * (kernels.matrix("rbf", X[place], gamma=GAMMA) + offset) * sign
    found = margins(X, sign, weight, place=place, offset=offset)
    rho, least = a @ Q @ a, (Q @ a).min()
    size = TOL.scan_float64 * 10 * (1 + offset)
    assert found.dual_objective == pytest.approx(-rho / 2, abs=size)
    assert found.primal_objective == pytest.approx(rho / 2 - least, abs=size)
    assert found.gap == found.kkt_violation == pytest.approx(rho - least, abs=size)
    assert found.gap == pytest.approx(found.primal_objective - found.dual_objective, abs=size)
    best = solve_qp(Q, np.zeros(n), np.ones((1, n)), np.ones(1), np.ones(n))
    assert found.dual_objective - size <= -best.objective <= found.primal_objective + size
    assert found.n_rows == n


@pytest.mark.parametrize("status", ["approximate", "iteration_limit", "time_limit", "interrupted"])
@pytest.mark.parametrize("part", [0.39, 0.41])
def test_margins_are_optimal_if_they_are(status, part):
    """Weights of 1/3 and 2/3 of orthogonal rows: rho is 5/9, of which 2/5 is the violation."""
    sign, weight = np.array([1.0, -1.0]), np.array([1.0, 2.0])
    found = margins(np.eye(2), sign, weight, status=status, part=part, kernel=Linear())
    assert found.kkt_violation == pytest.approx(2 / 9, rel=TOL.exact)
    assert found.tol == pytest.approx(part * 5 / 9, rel=TOL.exact)
    optimal = part > 0.4 and status != "interrupted"
    assert found.status == ("optimal" if optimal else status)


def test_margins_of_a_kernel_that_may_be_indefinite_have_no_gap():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = margins(X, np.array([1.0, -1.0]), np.ones(2), kernel=Callable(lambda A, B: A @ B.T))
    assert np.isnan([found.gap, found.relative_gap]).all()
    assert (found.kkt_violation, found.status) == (0.0, "optimal")
