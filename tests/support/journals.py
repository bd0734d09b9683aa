"""Small journals whose records can be told by their numbers."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from support.stored_arrays import assert_same
from widestreet._src.persistence.journal import Journal


def append(journal: Journal, count: int = 1) -> None:
    for _ in range(count):
        number = journal.sequence
        journal.append("add", {"row": number}, {"x": np.full(2, float(number))})


def begin(path, count: int = 3) -> str:
    """Write a new journal of a few records and return its base."""
    with closing(Journal(path, create=True)) as journal:
        append(journal, count)
        return journal.base


def numbers(path, *args) -> list[int]:
    """The numbers of the records, after a look at what is in them."""
    with closing(Journal(path, *args)) as journal:
        found = list(journal.records(*args[1:]))
    for record in found:
        assert (record.kind, record.header) == ("add", {"row": record.number})
        assert_same(record.arrays, {"x": np.full(2, float(record.number))})
    return [record.number for record in found]


def failing(error: BaseException):
    """A function that raises, whatever it is given."""

    def fail(*args, **options):
        raise error

    return fail
