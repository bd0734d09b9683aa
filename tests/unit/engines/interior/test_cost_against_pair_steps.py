"""The cost of the interior-point method, and how long rounds may go on before it."""

from __future__ import annotations

from widestreet._src.engines.interior import cost_against_pair_steps as cost
from widestreet._src.kernels.kernels import RBF, Linear, Poly


def test_the_rank_is_that_of_the_kernel_if_it_is_known():
    assert cost.largest_rank(Linear(), 10**6, 50) == 50
    assert cost.largest_rank(Poly(1.0, 1.0, 2), 10**6, 10) == 66
    assert cost.largest_rank(RBF(1.0), 1200, 10) == 1200
    assert cost.largest_rank(RBF(1.0), 10**5, 10) == cost.MOST_RANK


def test_the_cost_grows_with_the_square_of_the_rank():
    assert 3.5 < cost.cost(10**6, 200) / cost.cost(10**6, 100) < 4
    assert cost.cost(2 * 10**6, 50) < 2.1 * cost.cost(10**6, 50)


def test_patience_is_a_part_of_the_cost_and_ends_where_the_method_is_too_slow():
    patience = cost.patience(Linear(), 10**6, 50)
    assert patience is not None
    assert 0 < patience < cost.cost(10**6, 50)
    assert cost.patience(RBF(1.0), 10**7, 50) is None


def test_some_pair_steps_are_always_allowed():
    assert cost.pair_steps(0.0, 10) == cost.pair_steps(1.0, 10**6) > 0
    assert cost.pair_steps(1e12, 1000) > cost.pair_steps(1e12, 2000)
