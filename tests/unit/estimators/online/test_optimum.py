"""What follows from any optimum: its dual, its solution, and its certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import TOL
from reference import kernels, kkt
from support.fitting import in_reference_terms
from support.machines import GAMMA
from support.online_states import N, optimum
from widestreet._src.problems.formulations import NuSVC

every_kind = pytest.mark.parametrize("kind", ["svc", "svr"])


@every_kind
def test_the_solution_is_the_optimum_of_the_dual_of_the_rows(kind):
    found = optimum(kind)
    K = kernels.matrix("rbf", found.store.X, gamma=GAMMA)
    dual = in_reference_terms(found.make_dual())
    assert kkt.kkt_violation(K, dual, found.beta) <= TOL.online
    solution = found.solution
    np.testing.assert_array_equal(solution.members, np.arange(N))
    np.testing.assert_array_equal(solution.coef, found.beta.sum(axis=0))
    np.testing.assert_allclose(found.score, K @ solution.coef, atol=TOL.decision)


@every_kind
def test_the_certificate_is_independent_of_the_optimum(kind):
    found = optimum(kind)
    assert found.certificate(TOL.online).status == "optimal"
    assert found.certificate(TOL.online).n_rows == N
    found.store.target[:] = found.store.target[::-1].copy()  # another problem
    assert found.certificate(TOL.online).status != "optimal"


def test_parameters_that_the_rows_do_not_allow_are_noticed():
    found = optimum("svc")
    assert found.is_feasible()
    found.store.weight[found.store.target == 1] *= 1e-3
    found.problem = replace(found.problem, formulation=NuSVC(nu=0.5))
    assert not found.is_feasible()
