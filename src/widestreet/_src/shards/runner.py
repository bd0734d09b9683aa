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
        interrupted: Callable[[Result], bool] | None = None,
    ) -> list[Result]:
        """Return [function(item) for item in items].

        Parameters
        ----------
        function : callable
            A function of a module, or a partial of one, where items may leave this process.
        items : iterable
        on_interrupt : callable, optional
            Called after an interrupt, to make the other items stop early: threads do not feel it.
            What they return counts.
        interrupted : callable, optional
            Tells from a result that an interrupt ended it.
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
        interrupted: Callable[[Result], bool] | None = None,
    ) -> list[Result]:
        """Return [function(item) for item in items]; the protocol describes the parameters."""

        def call(item: Item) -> Result:
            result = function(item)
            if on_interrupt is not None and interrupted is not None and interrupted(result):
                on_interrupt()
            return result

        if self.workers == 1:
            return [call(item) for item in items]
        futures: list[Future[Result]] = []
        todo = list(items)
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                while len(futures) < len(todo):
                    futures.append(pool.submit(call, todo[len(futures)]))
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
        rest = [call(item) for item in todo[len(futures) :]]
        return [future.result() for future in futures] + rest
