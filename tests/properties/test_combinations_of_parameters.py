"""The choice of combinations of a test's parameters that `make test` runs."""

from __future__ import annotations

from itertools import product

import pytest

from support.combinations import LEAST, chosen, covering, parameters

KINDS, TABLE = ["a", "b", "c"], [(0, False), (0, True), (1, False), (1, True)]


@pytest.mark.parametrize("sizes", [(9,), (2, 2), (3, 4), (7, 11), (2, 3, 4), (5, 1, 6)])
def test_every_value_remains(sizes):
    every = [dict(enumerate(values)) for values in product(*map(range, sizes))]
    kept = [every[k] for k in covering(every)]
    for name, size in enumerate(sizes):
        assert {one[name] for one in kept} == set(range(size))
    assert len(kept) >= len(every) / LEAST
    assert len({tuple(one.values()) for one in kept}) == len(kept)
    assert (len(kept) < len(every)) == (len(sizes) > 1)


def test_every_pair_of_values_remains():
    every = [dict(enumerate(values)) for values in product(range(2), range(4), range(3))]
    kept = [every[k] for k in covering(every, 2)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        pairs = {(values[one], values[other]) for values in kept}
        assert pairs == {(values[one], values[other]) for values in every}
    assert len(kept) < len(every)
    assert len(covering([values | {2: 0} for values in every[::3]], 2)) == 8


def test_combinations_of_which_each_has_a_value_of_its_own_remain():
    every = [{"kind": k % 3, "case": k} for k in range(30)]
    assert sorted(covering(every)) == list(range(30))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("number", "flag"), TABLE)
def test_a_table_is_one_parameter(request, task, kind, number, flag):
    """A fixture with parameters is one, too."""
    found = parameters(request.node)
    assert found.keys() == {("kind",), ("number", "flag"), ("task",)}
    assert found["kind",] == ((str, kind),)
    assert found["number", "flag"] == ((int, number), (bool, flag))
    assert found["task",] == ((str, task),)


@pytest.mark.crossed
@pytest.mark.parametrize(("number", "flag"), TABLE)
def test_a_table_of_combinations_is_several_parameters(request, number, flag):
    assert parameters(request.node) == {("number",): ((int, number),), ("flag",): ((bool, flag),)}


def test_a_part_is_one_in_so_many(request):
    mine = [item for item in request.session.items if item.path == request.path]
    assert chosen(mine, 1) == set(mine)
    names = {item.function.__name__ for item in mine}
    least = chosen(mine, 1000)
    assert sorted(item.function.__name__ for item in least) == sorted(names)
    assert chosen(least, None) == least
