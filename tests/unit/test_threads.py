"""Threads: n_jobs as in joblib, within what the process and its environment allow."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import widestreet as ws
from widestreet import _core
from widestreet._src import threads
from widestreet._src.threads import limited_blas, resolve_threads
from widestreet.model_selection import GridSearchCV

VARIABLES = ("WIDESTREET_NUM_THREADS", "OMP_NUM_THREADS")


@pytest.fixture
def eight(monkeypatch):
    """Eight processors for this process, and nothing said in the environment."""
    monkeypatch.setattr(threads, "processors", lambda: 8)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [
        (None, 8),
        (1, 1),
        (3, 3),
        (8, 8),
        (20, 20),
        (10**400, 4096),
        (-1, 8),
        (-2, 7),
        (-8, 1),
        (-9, 1),
        (-100, 1),
    ],
)
def test_n_jobs(eight, n_jobs, expected):
    assert resolve_threads(n_jobs) == expected


def test_numpy_integers(eight):
    found = resolve_threads(np.int32(3))
    assert found == 3
    assert type(found) is int


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True, False, [2], np.float64(2)])
def test_what_is_no_number_of_jobs(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None or a nonzero integer"):
        resolve_threads(n_jobs)


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize(
    ("value", "expected"),
    [("3", 3), (" 2 ", 2), ("4,2", 4), ("100", 8), ("0", 8), ("-1", 8), ("many", 8), ("", 8)],
)
def test_the_environment_limits_what_there_is(eight, name, value, expected):
    eight.setenv(name, value)
    assert resolve_threads(None) == resolve_threads(-1) == expected
    assert resolve_threads(-2) == max(1, expected - 1)
    assert resolve_threads(6) == 6  # who names a number gets it


def test_the_own_variable_comes_first(eight):
    eight.setenv("OMP_NUM_THREADS", "2")
    eight.setenv("WIDESTREET_NUM_THREADS", "5")
    assert resolve_threads(None) == 5


def test_results_do_not_depend_on_the_number(rng):
    """What the core promises for each of its functions, through the layer that picks the number."""
    X = rng.normal(size=(300, 3))
    rows = _core.Rows.dense(X, None)
    kernel = _core.Kernel(_core.KernelKind.rbf, 1.0, 0.0, 1)
    found = []
    for n_jobs in (1, 2):
        out = np.zeros(300)
        coef = np.ones(300)
        _core.scan(
            kernel,
            rows,
            None,
            rows,
            None,
            coef[None],
            out[None],
            True,
            threads.resolve_threads(n_jobs),
        )
        found.append(out)
    assert np.array_equal(*found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_threads_of_its_own():
    """A fit in the parent, then one in its child: the threads of the parent are not there."""
    code = """
import os
import widestreet as ws
from widestreet.datasets import twonorm
X, y = twonorm(5000, random_state=0)
model = ws.SVC(n_jobs=2, random_state=0).fit(X, y)
child = os.fork()
if child == 0:
    same = (ws.SVC(n_jobs=2, random_state=0).fit(X, y).predict(X) == model.predict(X)).all()
    os._exit(0 if same else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "0", done.stderr


def test_threads_that_share_the_core(rng):
    """Many callers at once, each asking for several threads: all get their own results."""
    X = rng.normal(size=(2000, 5))
    rows, kernel = _core.Rows.dense(X, None), _core.Kernel(_core.KernelKind.rbf, 0.3, 0.0, 1)
    coefs = rng.normal(size=(8, 2000))

    def scan(coef):
        out = np.zeros((1, 2000))
        for _ in range(5):
            out[:] = 0
            _core.scan(kernel, rows, None, rows, None, coef[None], out, True, 4)
        return out[0]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(scan, coefs))
    assert np.array_equal(together, [scan(coef) for coef in coefs])


# -- linear algebra ----------------------------------------------------------------------------


class Library:
    """Stands for one that knows how many threads it may use."""

    def __init__(self, count: int) -> None:
        self.count, self.changes = count, 0

    def get_num_threads(self) -> int:
        return self.count

    def set_num_threads(self, count: int) -> None:
        self.count = count
        self.changes += 1


def test_linear_algebra_is_limited_for_a_while(monkeypatch):
    """Whoever uses no more than that anyway is left alone."""
    busy, modest = Library(8), Library(1)
    monkeypatch.setattr(threads, "_blas", lambda: [busy, modest])
    with limited_blas(2):
        assert (busy.count, modest.count) == (2, 1)
    assert (busy.count, modest.count) == (8, 1)
    assert modest.changes == 0


def test_a_limit_lasts_as_long_as_the_last_of_blocks_at_the_same_time(monkeypatch):
    library = Library(8)
    monkeypatch.setattr(threads, "_blas", lambda: [library])
    first, second = limited_blas(1), limited_blas(1)  # of two threads
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert library.count == 1
    second.__exit__(None, None, None)
    assert library.count == 8


def test_folds_of_pipelines_begin_with_limited_linear_algebra(monkeypatch, rng):
    """OpenBLAS ignores what other threads than the main one set."""
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    library, seen = Library(8), []
    monkeypatch.setattr(threads, "_blas", lambda: [library])

    class Noting(FunctionTransformer):
        def transform(self, X):
            seen.append(library.count)
            return X

    model = make_pipeline(Noting(), ws.SVC())
    search = GridSearchCV(model, {"svc__C": [1.0, 2.0]}, cv=3, refit=False, n_jobs=2).fit(X, y)
    assert search.shared_
    assert set(seen) == {1}
    assert library.count == 8
