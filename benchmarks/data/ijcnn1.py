"""ijcnn1 of the LIBSVM data sets: the first 35,000 rows train, the others test; 22 columns."""

from __future__ import annotations

from ..files import svmlight
from ..task import Split, Task, given

TRAIN_ROWS = 35_000


def load(n: int) -> Split:
    X, y = svmlight("ijcnn1", 22)
    X = X.toarray()
    return given(X[:TRAIN_ROWS], y[:TRAIN_ROWS], X[TRAIN_ROWS:], y[TRAIN_ROWS:], n)


TASKS = [
    Task(
        "ijcnn1",
        load,
        TRAIN_ROWS,
        "svc",
        gamma=2.0,
        C=32.0,
        origin="used for this set in many papers, not tuned here",
        files=("ijcnn1",),
    )
]
