"""The native step of a path: the next kink, and the way there."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOL
from reference import homotopy as reference
from reference.homotopy import FREE, LOWER, UPPER, State
from widestreet._core import HomotopyStep

pytestmark = pytest.mark.numeric

STILL, NO_WAY = 1e-13, 1e-13


def random_state(rng: np.random.Generator, rows: int, layers: int, groups: int) -> State:
    """A state with ties, boxes without width, and variables that have arrived already."""
    n = rows * layers

    def coarse(size: int) -> np.ndarray:
        return np.round(rng.normal(size=size), 1)

    lower = -np.abs(coarse(n)) * rng.integers(0, 2, n)
    upper = lower + np.abs(coarse(n)) * rng.integers(0, 2, n)
    bound_state = rng.integers(0, 3, n).astype(np.int8)
    inside = lower + rng.choice([0.0, 0.25, 0.5, 1.0], n) * (upper - lower)
    return State(
        layers=layers, target=coarse(n), lower=lower, upper=upper,
        beta=np.where(bound_state == LOWER, lower, np.where(bound_state == UPPER, upper, inside)),
        group=rng.integers(0, groups, n).astype(np.uint8), bound_state=bound_state,
        score=coarse(rows), bias=coarse(groups), d_target=coarse(n), d_lower=coarse(n),
        d_upper=coarse(n), d_beta=coarse(n), d_score=coarse(rows), d_bias=coarse(groups),
    )  # fmt: skip


def native(
    state: State, rows: np.ndarray | None = None
) -> tuple[HomotopyStep, dict[str, np.ndarray]]:
    values = {field.name: getattr(state, field.name) for field in fields(state)}
    held = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in values.items()}
    return HomotopyStep(**held, rows=rows), held


def drawn(seed: int, rows: int, layers: int, groups: int) -> tuple[State, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return random_state(rng, rows, layers, groups), rng


SHAPES = {
    "seed": st.integers(0, 2**32 - 1),
    "rows": st.integers(1, 12),
    "layers": st.integers(1, 2),
    "groups": st.integers(1, 2),
}


@given(**SHAPES, first=st.booleans(), passed=st.integers(0, 6))
def test_the_nearest_kink_is_that_of_the_reference(seed, rows, layers, groups, first, passed):
    state, rng = drawn(seed, rows, layers, groups)
    passed_over = rng.permutation(rows * layers)[:passed].astype(np.int64)
    found = native(state)[0].nearest(STILL, NO_WAY, first, passed_over)
    wanted = reference.nearest(state, STILL, NO_WAY, first, passed_over.tolist())
    assert found[1:3] == wanted[1:3]
    np.testing.assert_allclose(found, wanted, rtol=TOL.exact, atol=TOL.exact)


@given(**SHAPES, length=st.floats(0, 3))
def test_an_advance_moves_everything_but_the_biases(seed, rows, layers, groups, length):
    state, _ = drawn(seed, rows, layers, groups)
    walk, held = native(state)
    walk.advance(length)
    wanted = reference.advance(state, length)
    for name, value in held.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_allclose(value, getattr(wanted, name), rtol=0, atol=TOL.exact * 10)
    for name in ("bound_state", "group", "bias", *(name for name in held if name.startswith("d_"))):
        np.testing.assert_array_equal(held[name], getattr(state, name))


@given(**SHAPES)
def test_up_to_the_nearest_kink_nobody_leaves_the_conditions(seed, rows, layers, groups):
    """What holds at the beginning still holds there."""
    state, _ = drawn(seed, rows, layers, groups)
    walk, held = native(state)
    length, variable = walk.nearest(STILL, NO_WAY, False, np.zeros(0, dtype=np.int64))[:2]
    if variable < 0:
        return
    walk.advance(length)
    after = reference.advance(state, length)
    slack = after.slack - length * state.d_bias[state.group]
    width = (state.upper > state.lower) | (state.d_upper > state.d_lower)
    for bound_state, sign in ((LOWER, 1.0), (UPPER, -1.0)):
        held_before = width & (state.bound_state == bound_state) & (sign * state.slack <= 0)
        assert (sign * slack[held_before] <= TOL.twin * (1 + length)).all()
    inside = (state.bound_state == FREE) & (state.beta >= state.lower) & (state.beta <= state.upper)
    room = TOL.twin * (1 + length)
    assert (held["beta"] >= held["lower"] - room)[inside].all()
    assert (held["beta"] <= held["upper"] + room)[inside].all()


@given(**SHAPES, first=st.booleans())
def test_of_rows_that_are_not_looked_at_nothing_is_known(seed, rows, layers, groups, first):
    """The kink of some rows is that of a problem of these, and only they go there."""
    state, rng = drawn(seed, rows, layers, groups)
    seen = np.flatnonzero(rng.random(rows) < 0.6)
    variables = (seen[:, None] * layers + np.arange(layers)).ravel()
    part = {}
    for field in fields(state):
        value = getattr(state, field.name)
        of_row, of_group = field.name.endswith("score"), field.name.endswith("bias")
        kept = ... if of_group else seen if of_row else variables
        part[field.name] = value if field.name == "layers" else value[kept]
    walk, held = native(state, seen)
    found = walk.nearest(STILL, NO_WAY, first, np.zeros(0, dtype=np.int64))
    wanted = reference.nearest(State(**part), STILL, NO_WAY, first, [])
    assert found[1] == (variables[wanted[1]] if wanted[1] >= 0 else -1)
    np.testing.assert_allclose(found[2:], wanted[2:], rtol=TOL.exact, atol=TOL.exact)
    walk.advance(0.5)
    after = reference.advance(state, 0.5)
    for name in ("target", "lower", "upper", "beta", "score"):
        moved = seen if name == "score" else variables
        expected = getattr(state, name).copy()
        expected[moved] = getattr(after, name)[moved]
        np.testing.assert_allclose(held[name], expected, rtol=0, atol=TOL.exact * 10)


def test_of_a_tie_the_first_by_number():
    """Without being asked, the first that is strictly nearest; asked, the first hardly farther."""
    state, _ = drawn(0, 3, 1, 1)
    still = {name: np.zeros(3) for name in ("d_lower", "d_upper", "d_target", "d_score")}
    state = State(
        **{f.name: getattr(state, f.name) for f in fields(state)}
        | still
        | {
            "lower": np.zeros(3),
            "upper": np.ones(3),
            "beta": np.array([0.5 + 1e-14, 0.5, 0.5]),
            "bound_state": np.full(3, FREE, dtype=np.int8),
            "d_beta": -np.ones(3),
        }
    )
    nobody = np.zeros(0, dtype=np.int64)
    assert native(state)[0].nearest(STILL, NO_WAY, False, nobody)[1:3] == (1, LOWER)
    assert native(state)[0].nearest(STILL, NO_WAY, True, nobody)[1:3] == (0, LOWER)
    assert native(state)[0].nearest(STILL, NO_WAY, True, np.array([0, 1]))[1:3] == (2, LOWER)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("layers", 0, "score per row"),
        ("score", np.zeros(4), "score per row"),
        ("d_score", np.zeros(4), "score per row"),
        ("beta", np.zeros(5), "per variable"),
        ("bound_state", np.zeros(5, dtype=np.int8), "per variable"),
        ("d_upper", np.zeros(7), "per variable"),
        ("d_bias", np.zeros(3), "per group"),
        ("group", np.full(6, 2, dtype=np.uint8), "no such group"),
        ("rows", np.array([0, 3]), "ascending"),
        ("rows", np.array([-1, 2]), "ascending"),
        ("rows", np.array([1, 1]), "ascending"),
    ],
)
def test_refuses_what_does_not_fit(name, value, match):
    state, _ = drawn(1, 3, 2, 2)
    arguments = {field.name: getattr(state, field.name) for field in fields(state)}
    with pytest.raises(ValueError, match=match):
        HomotopyStep(**arguments | {name: value})
