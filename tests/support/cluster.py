"""A Dask cluster of some processes, which all tests of a session share, and how to harm it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from widestreet._src.shards.shard import Shard

_FORGET = 5.0  # seconds within which the scheduler forgets what was released
WORKERS = int(os.environ.get("WIDESTREET_TEST_WORKERS", "2"))  # processes of one thread each
PATIENCE = 120.0  # seconds after which a test fails whose workers do not come back

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")


@contextmanager
def workers() -> Iterator[Any]:
    """Yield the client of a cluster of processes with one thread each."""
    cluster = distributed.LocalCluster(
        n_workers=WORKERS,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",  # None is a port that another cluster may have
        memory_limit="2GB",
        silence_logs="CRITICAL",
    )
    try:
        with distributed.Client(cluster) as client:
            yield client
    finally:
        with suppress(KeyError):  # of a worker that was lost before the cluster knew it
            cluster.close()
        cluster.status = distributed.Status.closed


def keys_of(client: Any) -> list[str]:
    """Return the keys of this package that the scheduler knows, once it forgot what it can."""
    until = time.monotonic() + _FORGET
    while (keys := client.run_on_scheduler(_keys)) and time.monotonic() < until:
        time.sleep(0.05)
    return keys


def _keys(dask_scheduler: Any) -> list[str]:
    return [str(key) for key in dask_scheduler.tasks if "widestreet" in str(key)]


# -- shards of this process as stations ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ShardBlock:
    """A shard in the place of the rows of a station."""

    shard: Shard

    @property
    def rows(self) -> Any:
        return self.shard.gram.left

    def __len__(self) -> int:
        return self.shard.rows


class ShardRecipe:
    """Takes the shard as it came."""

    def shard(self, block: ShardBlock) -> Shard:
        return block.shard


def station_set(client: Any, shards: Sequence[Shard]) -> Any:
    """Return stations on alternating workers, each with one shard."""
    from widestreet._src.dask.station import Station
    from widestreet._src.dask.station_set import StationSet

    client.wait_for_workers(1)
    addresses = sorted(client.scheduler_info()["workers"])
    homes = [addresses[k % len(addresses)] for k in range(len(shards))]
    stations = [client.submit(Station, ShardBlock(shard), pure=False) for shard in shards]
    sizes = [shard.rows for shard in shards]
    return StationSet(client, stations, sizes, homes, lambda k: (f"station {k}", "use less"))


def dask_port(client: Any, shards: Sequence[Shard]) -> Any:
    """Return a port to shards on the workers."""
    from widestreet._src.dask.port import DaskPort

    sizes = [shard.rows for shard in shards]
    return DaskPort(station_set(client, shards), ShardRecipe(), range(len(shards)), sizes)


# -- sabotage --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sabotage:
    """Kills workers from inside, in a question of some kind.

    Attributes
    ----------
    folder : Path
        Where questions are counted: one file for each shard.
    question : str
        Name of the question.
    nth : int
        In which of them, counted from one for each shard, the worker of the shard is killed.
    times : int
        How often in a row.
    begins : tuple of int
        Shards whose worker is killed, by the number of their first row.
    """

    folder: Path
    question: str
    nth: int = 1
    times: int = 1
    begins: tuple[int, ...] = (0,)

    def count(self, name: str, begin: int) -> None:
        """Count a question, and kill the process if its time has come."""
        if name != self.question or begin not in self.begins:
            return
        path = self.folder / f"{begin}"
        with path.open("a") as file:
            file.write("x")
        if self.nth <= path.stat().st_size < self.nth + self.times:
            os.kill(os.getpid(), signal.SIGKILL)

    def wrapped(self, question: Callable[..., Any]) -> Callable[..., Any]:
        """Return a question that is counted where it arrives."""
        return partial(_sabotaged, question=question, plan=self)

    @property
    def done(self) -> bool:
        """Whether it has happened."""
        return any(path.stat().st_size >= self.nth for path in self.folder.iterdir())


def _sabotaged(
    shard: Shard, news: Any, *arguments: Any, question: Any, plan: Sabotage, poll: Any
) -> Any:
    plan.count(getattr(question, "__name__", ""), shard.begin)
    return question(shard, news, *arguments, poll=poll)


@contextmanager
def sabotaged(monkeypatch: pytest.MonkeyPatch, plan: Sabotage) -> Iterator[None]:
    """Let every question to a cluster be counted by a plan."""
    from widestreet._src.dask.port import DaskPort

    ask = DaskPort.ask
    with monkeypatch.context() as patch:
        patch.setattr(
            DaskPort,
            "ask",
            lambda self, question, each, poll: ask(self, plan.wrapped(question), each, poll),
        )
        yield


@contextmanager
def one_failure_allowed(client: Any) -> Iterator[None]:
    """Let a task fail when it has ended two workers, instead of four: each takes seconds."""
    before = client.run_on_scheduler(_allow, 1)
    try:
        with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
            yield
    finally:
        client.run_on_scheduler(_allow, before)


def _allow(failures: int, dask_scheduler: Any) -> int:
    before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, failures
    return int(before)


def whole_again(client: Any) -> None:
    """Wait until all workers are back; a nanny whose worker dies while it starts gives up."""
    try:
        client.wait_for_workers(WORKERS, timeout=8)
    except TimeoutError:
        client.cluster.scale(0)
        client.cluster.scale(WORKERS)
        client.wait_for_workers(WORKERS, timeout=60)
