"""The client of a cluster, and the workers that it reaches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from distributed import Client, default_client, get_worker, worker_client


@dataclass(frozen=True)
class Worker:
    """A worker as the scheduler knows it."""

    address: str
    name: str
    threads: int
    memory: int
    status: str


@contextmanager
def connected(client: Any) -> Iterator[Client]:
    """Yield the client to use: the given one, that of the task it runs in, or the default one."""
    if client is None and _in_task():
        with worker_client() as own:
            yield own
        return
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise RuntimeError(
                "there is no Dask client: create one with distributed.Client(), or pass client="
            ) from None
    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client, got {client!r}")
    if client.asynchronous:
        raise TypeError(
            "client is asynchronous, and fit is not: pass a client made with asynchronous=False, "
            "and call fit with asyncio.to_thread(model.fit, X, y)"
        )
    yield client


def _in_task() -> bool:
    try:
        get_worker()
    except ValueError:
        return False
    return True


def workers_of(client: Client) -> dict[str, Worker]:
    """Return the workers by their address."""
    known = client.scheduler_info(n_workers=-1)["workers"]  # some versions list five by default
    return {
        address: Worker(
            address,
            str(one.get("name", address)),
            int(one["nthreads"]),
            int(one.get("memory_limit") or 0),
            str(one.get("status", "running")),
        )
        for address, one in known.items()
    }
