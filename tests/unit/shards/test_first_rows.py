"""Where a fit begins does not depend on how the rows are divided, nor on where they are."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import TOL
from support.fitting import build_dual
from support.shard_sets import every_model, every_port, shards_at_a_point
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.dual import Dual
from widestreet._src.rows import as_rows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.first_rows import FirstRows
from widestreet._src.shards.point import Point
from widestreet._src.shards.shard_set import ShardSet
from widestreet.datasets import twonorm


@every_port
@pytest.mark.parametrize("parts", [1, 4])
def test_draws_have_rows_of_both_classes(port, parts, rng):
    shards, dual, _ = shards_at_a_point(parts, port, rng)
    ids = FirstRows(shards).draw(40, np.random.default_rng(3))
    assert len(np.unique(ids)) == 40
    assert (np.diff(ids) > 0).all()
    negative = dual.lower[0, ids] < 0
    assert 10 <= negative.sum() <= 30
    assert np.array_equal(FirstRows(shards).draw(90, rng), np.arange(90))
    assert FirstRows(shards).draw(1, rng).shape == (1,)


def test_draws_do_not_depend_on_how_rows_are_divided(rng):
    state, found = rng.bit_generator.state, []
    for parts, port in ((1, "local"), (5, "forgetful")):
        rng.bit_generator.state = state
        shards, _, _ = shards_at_a_point(parts, port, rng)
        found.append(FirstRows(shards).draw(40, np.random.default_rng(3)))
    assert np.array_equal(*found)


@every_port
@every_model
@pytest.mark.parametrize("zero", [True, False])
def test_where_to_begin_does_not_depend_on_how_rows_are_divided(port, model, zero, rng):
    state, found = rng.bit_generator.state, []
    for parts, where in ((1, "local"), (4, port)):
        rng.bit_generator.state = state
        shards, dual, _ = shards_at_a_point(parts, where, rng, model)
        if zero:
            shards.publish(Expansion.zero(dual.groups), Point.zero(dual.layers))
        found.append((FirstRows(shards), dual))
    (one, dual), (many, _) = found
    assert np.array_equal(one.pair(), many.pair())
    assert one.first_violation() == many.first_violation()
    wanted, point = dual.feasible_point(), many.feasible_point()
    np.testing.assert_allclose(point.dense(90), wanted, rtol=0, atol=TOL.feasibility * dual.rows)
    linear, free = many.shards.totals(point)
    assert linear == pytest.approx((dual.target * wanted).sum(), rel=TOL.twin, abs=TOL.twin)
    assert free <= np.count_nonzero(wanted)


def test_no_room_for_the_totals_is_an_error():
    X, y = twonorm(30, random_state=0)
    dual = build_dual("one_class", np.float64(y), C=1.0, nu=0.5)
    dual = Dual(dual.target, dual.lower, dual.upper, dual.group, np.array([31.0]))
    shards = ShardSet.of(Gram(RBF(0.1), as_rows(X)), dual, parts=3)
    with pytest.raises(ValueError, match="cannot be met"):
        FirstRows(shards).feasible_point()
