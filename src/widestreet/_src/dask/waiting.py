"""Waiting for tasks: the clock is looked at, and errors of the cluster say what to do."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait as wait_for_job
from typing import Any, TypeAlias

from distributed import CancelledError, Client, Future, wait
from distributed.scheduler import KilledWorker

from widestreet._src.dask.connection import Worker, workers_of
from widestreet._src.stacklevel import level_of_caller

Renew: TypeAlias = Callable[[Sequence[int], Mapping[str, Worker]], Mapping[int, Future]]

_LISTEN = 0.1  # seconds between two looks at the clock
_WITHOUT_WORKERS = 10.0  # seconds without workers after which the user is told
_PAUSED = 60.0  # seconds that a worker may be paused before the user is told
_INSPECT = 0.5  # seconds between two looks at the workers
_LISTED = 3  # tasks that an error names


class Watch:
    """Observer of the workers during a wait; it warns once of each problem."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._last = time.perf_counter()
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def look(self) -> dict[str, Worker] | None:
        """Return the workers, or None if they were looked at just before.

        Warns if there are none, or if one has been paused for long. Sets: everything.
        """
        now = time.perf_counter()
        if now - self._last < _INSPECT:
            return None
        self._last = now
        workers = workers_of(self.client)
        paused = [one for one in workers.values() if one.status == "paused"]
        present = {one.address for one in paused} | ({""} if not workers else set())
        self._since = {key: self._since.get(key, now) for key in present}
        if self._due("", now, _WITHOUT_WORKERS - _INSPECT):
            warnings.warn(
                f"the Dask cluster has had no workers for {_WITHOUT_WORKERS:.0f} s: the fit waits "
                "for one; start workers, or scale the cluster",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        for one in paused:
            if self._due(one.address, now, _PAUSED):
                warnings.warn(
                    f"worker {one.name} ({one.address}) has been paused for {_PAUSED:.0f} s: its "
                    f"memory limit is {one.memory / 1e9:.2f} GB; give it more memory, or use more "
                    "workers",
                    UserWarning,
                    stacklevel=level_of_caller(),
                )

        return workers

    def _due(self, key: str, now: float, seconds: float) -> bool:
        """Return whether something has lasted for long and was not said before. Sets: told."""
        if key in self._told or key not in self._since or now - self._since[key] < seconds:
            return False
        self._told.add(key)
        return True


def wait_for_workers(client: Client, look: Callable[[], None]) -> dict[str, Worker]:
    """Return the running workers as soon as there are any; `look` may end the wait."""
    watch = Watch(client)
    while not (workers := workers_of(client)):
        look()
        watch.look()
        time.sleep(_LISTEN)
    return workers


def collect(
    client: Client,
    futures: list[Future],
    look: Callable[[], None],
    describe: Callable[[int], tuple[str, str]],
    renew: Renew | None = None,
) -> list[Any]:
    """Return the results of futures, which are released whatever happens. Sets: futures.

    Parameters
    ----------
    client : Client
    futures : sequence of Future
    look : callable
        Called about every tenth of a second; may raise to end the wait.
    describe : callable
        Returns what task i works on, and what to do if it ends its workers.
    renew : callable, optional
        Takes which tasks are not done, and the present workers. Returns tasks to replace some of
        them.
    """
    try:
        found = None
        while found is None:
            _await(client, futures, look, renew)
            found = _gathered(client, futures, look)
        return found
    except KilledWorker as error:
        raise _killed(client, futures, error, describe) from None
    except CancelledError as error:
        raise RuntimeError(
            f"a result that the fit needs is gone ({error}). If X, y or sample_weight were "
            "scattered, their worker has died: build them from files or with from_array"
        ) from None
    finally:
        for future in futures:
            future.release()


def _await(
    client: Client, futures: list[Future], look: Callable[[], None], renew: Renew | None
) -> None:
    """Wait until every future is done or one has failed. Sets: futures."""
    watch = Watch(client)
    while True:
        look()
        try:
            wait(futures, timeout=_LISTEN)
            return
        except TimeoutError:
            if _failed(futures):
                return
        workers = watch.look()
        if workers and renew is not None:
            for i, future in renew(_undone(futures), workers).items():
                futures[i].release()
                futures[i] = future


def _failed(futures: Sequence[Future]) -> bool:
    return any(future.status in ("error", "cancelled") for future in futures)


def _undone(futures: Sequence[Future]) -> list[int]:
    """Return which futures are not done, or not any more: their worker died with the result."""
    return [i for i, future in enumerate(futures) if future.status in ("pending", "lost")]


def _gathered(
    client: Client, futures: Sequence[Future], look: Callable[[], None]
) -> list[Any] | None:
    """Gather futures that are done; None if some are not any more, and are computed again."""

    async def gather() -> list[Any]:
        results: list[Any] = await client.gather(list(futures), asynchronous=True)
        return results

    # It is never cancelled: a client gathers for several threads at a time, and all would be.
    job = asyncio.run_coroutine_threadsafe(gather(), client.loop.asyncio_loop)
    while wait_for_job([job], _LISTEN).not_done:
        look()
        if _undone(futures) and not _failed(futures):
            return None
    return job.result()


def _killed(
    client: Client,
    futures: Sequence[Future],
    error: KilledWorker,
    describe: Callable[[int], tuple[str, str]],
) -> RuntimeError:
    """Return the error about a task that ended several workers.

    The scheduler blames all tasks that were on these workers, and does not know which one it was.
    """
    blamed = [describe(i) for i, future in enumerate(futures) if future.status == "error"]
    _, cure = blamed[0]
    more = len(blamed) - _LISTED
    what = " or ".join(name for name, _ in blamed[:_LISTED]) + (f" or {more} more" * (more > 0))
    return ended(what, cure, error.allowed_failures + 1, workers_of(client))


def ended(what: str, cure: str, count: int, workers: Mapping[str, Worker]) -> RuntimeError:
    """Return the error about rows that ended several workers, and what to do."""
    limits = [one.memory for one in workers.values() if one.memory]
    limit = f", whose memory limit is {min(limits) / 1e9:.2f} GB" if limits else ""
    return RuntimeError(f"{what} ended {count} workers{limit}: {cure}")
