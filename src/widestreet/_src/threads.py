"""Number of threads of the core and of BLAS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

from widestreet._src.environment import thread_limit
from widestreet._src.resources import processors


def _available() -> int:
    """Return the number of processors of this process, or a smaller limit from the environment."""
    count = processors()
    return min(count, thread_limit() or count)


_MOST_THREADS = 4096  # larger values of n_jobs are reduced to this


def resolve_threads(n_jobs: int | None) -> int:
    """Turn `n_jobs` into a number of threads.

    None means all processors available to the process. Negative numbers count back from there as in
    joblib: -1 means all, -2 all but one. Worker processes of joblib set OMP_NUM_THREADS, which is
    respected, so that nested parallelism does not oversubscribe the machine.
    """
    if n_jobs is None:
        return _available()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a nonzero integer, got {n_jobs!r}")
    if n_jobs < 0:
        return max(1, _available() + 1 + int(n_jobs))
    return min(int(n_jobs), _MOST_THREADS)


@cache
def _blas() -> list[Any]:
    """Return the BLAS libraries of the process; they are searched once."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _Limit:
    """Number of blocks with limited BLAS threads in all threads, and the numbers before them."""

    def __init__(self) -> None:
        self.lock, self.blocks = Lock(), 0
        self.before: list[tuple[Any, int]] = []


_LIMIT = _Limit()


@contextmanager
def limited_blas(threads: int) -> Iterator[None]:
    """Limit the number of BLAS threads within the block.

    The matrices here are small and BLAS threads wait for each other: on a busy machine several
    threads take longer than one. The number belongs to the process: the last of all blocks that
    run at the same time restores what was there before the first. OpenBLAS ignores numbers that
    another thread than the main one sets, so that blocks belong around the start of threads.
    """
    with _LIMIT.lock:
        if _LIMIT.blocks == 0:
            _LIMIT.before = [(library, library.get_num_threads()) for library in _blas()]
        _LIMIT.blocks += 1
        for library, _ in _LIMIT.before:
            if library.get_num_threads() > threads:
                library.set_num_threads(threads)
    try:
        yield
    finally:
        with _LIMIT.lock:
            _LIMIT.blocks -= 1
            if _LIMIT.blocks == 0:
                for library, count in _LIMIT.before:
                    if library.get_num_threads() != count:
                        library.set_num_threads(count)
