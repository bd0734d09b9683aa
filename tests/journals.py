"""Small journals whose records can be told by their numbers."""

from __future__ import annotations

from uuid import UUID

import numpy as np

from stored import assert_same
from widestreet._src.persistence.journal import Journal, records

BASE = UUID("5f0c2f3e-5d6b-4c9a-9a59-0c3f5c1c7a11")


def append(journal: Journal, count: int = 1) -> None:
    for _ in range(count):
        journal.append("add", {"row": journal.sequence}, {"x": np.full(2, float(journal.sequence))})


def ends(path, count: int = 3) -> list[int]:
    """A new journal of a few records: where its head and its records end."""
    with Journal.create(path, BASE) as journal:
        found = [journal.size]
        for _ in range(count):
            append(journal)
            found.append(journal.size)
    return found


def numbers(path, *args) -> list[int]:
    """The numbers of the records, after a look at what is in them."""
    found = list(records(path, *args))
    for record in found:
        assert (record.kind, record.header) == ("add", {"row": record.sequence})
        assert_same(record.arrays, {"x": np.full(2, float(record.sequence))})
    return [record.sequence for record in found]


def failing(error: BaseException):
    """A function that raises, whatever it is given."""

    def fail(*args, **options):
        raise error

    return fail
