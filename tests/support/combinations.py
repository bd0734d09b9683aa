"""Choice among the combinations of a test's parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from math import ceil
from typing import Any
from zlib import crc32

import pytest

FEW = 6  # combinations of which none is left out
LEAST = 3  # at least one combination in so many remains
COMPILED = ("unit/core/", "unit/kernels/")  # tests of what is compiled for each instruction set


def chosen(items: Iterable[pytest.Item], part: int | None) -> set[pytest.Item]:
    """Return the items to run, the same ones in every run.

    Of tests of what is compiled, combinations in which each pair of values occurs. Of others one
    combination in `part`, or, if that is None, combinations in which each value occurs.
    """
    same_test = defaultdict(list)
    for item in items:
        same_test[item.nodeid.partition("[")[0]].append(item)
    found: set[pytest.Item] = set()
    for group in same_test.values():
        group.sort(key=lambda item: crc32(item.nodeid.encode()))
        compiled = any(folder in group[0].nodeid for folder in COMPILED)
        if part is not None and not compiled:
            found.update(group[: ceil(len(group) / part)])
        elif len(group) <= FEW:
            found.update(group)
        else:
            every = [parameters(item) for item in group]
            found.update(group[k] for k in covering(every, 2 if compiled else 1))
    return found


def parameters(item: pytest.Item) -> dict[tuple[str, ...], Hashable]:
    """Return the parameters of an item by their names.

    The arguments of one `parametrize` are one parameter, so that a table of cases stays whole,
    unless the test is marked `crossed`.
    """
    if not hasattr(item, "callspec"):
        return {}
    values = {name: _key(value) for name, value in item.callspec.params.items()}
    tables = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        names = names.split(",") if isinstance(names, str) else names
        tables.append(tuple(name.strip() for name in names))
    if item.get_closest_marker("crossed") is not None:
        tables = [(name,) for names in tables for name in names]
    alone = values.keys() - {name for names in tables for name in names}
    tables += [(name,) for name in sorted(alone)]  # of fixtures
    return {names: tuple(values.get(name) for name in names) for names in tables}


def _key(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value


def covering(every: Sequence[Mapping[Any, Hashable]], strength: int = 1) -> list[int]:
    """Return which combinations cover every value of every parameter, a third of all at least.

    With `strength` 2 they cover every pair of values of two parameters.
    """
    covered = [{*combinations(one.items(), min(strength, len(one)))} for one in every]
    missing = set().union(*covered)
    rest, found = list(range(len(every))), []
    while rest and (missing or len(found) < len(every) / LEAST):
        best = max(rest, key=lambda k: len(missing & covered[k]))
        rest.remove(best)
        found.append(best)
        missing -= covered[best]
    return found
