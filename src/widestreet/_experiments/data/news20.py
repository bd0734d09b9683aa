"""Twenty news groups of the LIBSVM data sets: 62,061 words, sparse, rows of length one.

There are no test rows at hand: a tenth is held out.
"""

from __future__ import annotations

from sklearn.preprocessing import normalize

from widestreet._experiments.harness.files import svmlight
from widestreet._experiments.harness.task import Split, Task, part

HELD_OUT = 1_593


def load(n: int) -> Split:
    X, y = svmlight("news20", 62_061)
    return part(normalize(X), y, n, HELD_OUT)


TASKS = [
    Task(
        f"news20-{kernel}",
        load,
        14_342,
        "svc",
        gamma=1.0,
        C=1.0,
        origin="a common choice for rows of length one, not tuned",
        kernel=kernel,
        files=("news20",),
    )
    for kernel in ("linear", "rbf")
]
