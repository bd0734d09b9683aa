"""Work in this process: the native core lets go of the interpreter while it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runner(Protocol):
    """Applies a function to items, somewhere, and returns the results in order."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return [function(item) for item in items]."""
        ...


class LocalRunner:
    """Applies functions in this process.

    Parameters
    ----------
    workers : int, default=1
        Items worked on at the same time.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return [function(item) for item in items]."""
        if self.workers == 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(function, items))
