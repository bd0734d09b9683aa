"""The reduced Newton system: its steps solve the whole one."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.low_rank import EVERY, KERNELS, factor, problem
from widestreet._src.engines.interior.newton_system import NewtonSystem, group_sums


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", EVERY)
def test_steps_solve_the_equations(model, kernel, rng):
    gram, dual = problem(model, kernel, 1, n=25)
    found = factor(gram, dual)
    theta = np.exp(rng.standard_normal(dual.target.shape))
    theta[:, :3] = 0.0  # these cannot move
    rhs = rng.standard_normal(dual.target.shape)
    beta, multiplier, inner = NewtonSystem.of(found, dual, theta).solve(rhs)
    coef = beta.sum(axis=0)
    np.testing.assert_allclose(inner, found.transposed(coef), atol=TOL.newton_rel)
    np.testing.assert_allclose(group_sums(beta, dual.group, dual.groups), 0, atol=TOL.newton_rel)
    score = found.times(inner) + (0.0 if dual.diagonal is None else dual.diagonal * coef)
    moving = theta > 0
    left = score + np.where(moving, beta / np.where(moving, theta, 1.0), 0.0)
    left = left - multiplier[dual.group]
    np.testing.assert_allclose(left[moving], rhs[moving], atol=TOL.newton_rel)
    assert not beta[~moving].any()


def test_a_group_in_which_nothing_can_move_stays(rng):
    gram, dual = problem("nu_svc", "linear", 1)
    theta = np.where(dual.group == 0, 0.0, 1.0)
    beta, _, _ = NewtonSystem.of(factor(gram, dual), dual, theta).solve(np.ones(theta.shape))
    assert np.isfinite(beta).all()
    assert not beta[dual.group == 0].any()


def test_a_system_that_overflows_cannot_be_solved():
    gram, dual = problem("nu_svr", "linear", 1)
    theta = np.full(dual.target.shape, 1e308)
    with np.errstate(all="ignore"), pytest.raises(np.linalg.LinAlgError, match="overflows"):
        NewtonSystem.of(factor(gram, dual), dual, theta)
