"""Work in this process: the native core lets go of the interpreter while it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
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

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        on_interrupt: Callable[[], None] | None = None,
    ) -> list[Result]:
        """Return [function(item) for item in items].

        Other threads do not feel an interrupt: `on_interrupt` is called to make them stop early,
        and what they return counts.
        """
        if self.workers == 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(self.workers) as pool:
            futures = [pool.submit(function, item) for item in items]
            try:
                wait(futures)
            except KeyboardInterrupt:
                if on_interrupt is None:
                    raise
                on_interrupt()
            return [future.result() for future in futures]
