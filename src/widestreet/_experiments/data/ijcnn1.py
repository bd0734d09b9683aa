"""ijcnn1 of the LIBSVM data sets: the first 35,000 rows train, the others test; 22 columns."""

from __future__ import annotations

from widestreet._experiments.harness.files import svmlight
from widestreet._experiments.harness.task import TEST_ROWS, Split, Task, given

TRAIN_ROWS = 35_000


def load(n: int, test_rows: int = TEST_ROWS) -> Split:
    X, y = svmlight("ijcnn1", 22)
    X = X.toarray()
    cut = TRAIN_ROWS
    return given(X[:cut], y[:cut], X[cut:], y[cut:], n, test_rows)


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
