"""a9a (census) and w7a (web pages) of the LIBSVM data sets: 0/1 columns, mostly 0.

Both as CSR and as a dense array, since some libraries are faster on the one, some on the other.
"""

from __future__ import annotations

from functools import partial

from widestreet._experiments.harness.files import svmlight
from widestreet._experiments.harness.task import TEST_ROWS, Split, Task, given


def load(name: str, features: int, dense: bool, n: int, test_rows: int = TEST_ROWS) -> Split:
    found = []
    for file in (name, f"{name}.t"):
        X, y = svmlight(file, features)
        found += [X.toarray() if dense else X, y]
    return given(found[0], found[1], found[2], found[3], n, test_rows)


def pair(name: str, features: int, rows: int, gamma: float, C: float) -> list[Task]:
    """Return the same task twice: CSR and dense."""
    return [
        Task(
            f"{name}-dense" if dense else name,
            partial(load, name, features, dense),
            rows,
            "svc",
            gamma,
            C,
            "a common choice for this set, not tuned here",
            files=(name, f"{name}.t"),
        )
        for dense in (False, True)
    ]


TASKS = [
    *pair("a9a", 123, 32_561, gamma=0.03125, C=1.0),
    *pair("w7a", 300, 24_692, gamma=0.05, C=10.0),
]
