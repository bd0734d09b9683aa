"""Work in this process: the native core lets go of the interpreter while it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

_LISTEN = 0.1  # seconds after which a waiting thread looks for an interrupt

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runner(Protocol):
    """Applies a function to items, somewhere, and returns the results in order."""

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
        futures: list[Future[Result]] = []
        todo = list(items)
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                while len(futures) < len(todo):
                    futures.append(pool.submit(function, todo[len(futures)]))
                while wait(futures, timeout=_LISTEN, return_when=FIRST_EXCEPTION).not_done:
                    if any(future.exception() for future in futures if future.done()):
                        pool.shutdown(wait=False, cancel_futures=True)
                        break
            except KeyboardInterrupt:
                if on_interrupt is None:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
                on_interrupt()
        failed = [future for future in futures if not future.cancelled() and future.exception()]
        if failed:
            failed[0].result()
        rest = [function(item) for item in todo[len(futures) :]]
        return [future.result() for future in futures] + rest
