"""Runners: the map of a function over items, in threads of this process or elsewhere.

The native core releases the lock of the interpreter while it computes, so that threads run in
parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

_LISTEN = 0.1  # seconds after which a waiting thread checks for an interrupt

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runner(Protocol):
    """Map of a function over items, with the results in order."""

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
            It must be picklable if items are processed outside this process: a function of a
            module, or a partial of one.
        items : iterable
        on_interrupt : callable, optional
            Called after an interrupt, which reaches only one thread. It must make the calls for
            the other items return early. Their results are returned.
        interrupted : callable, optional
            Takes a result and returns whether an interrupt ended its computation.
        """
        ...


class LocalRunner:
    """Map of functions over items in threads of this process.

    Parameters
    ----------
    workers : int, default=1
        Number of items processed at the same time.
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
