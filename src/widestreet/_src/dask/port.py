"""Shards on the workers of a cluster, behind the protocol `Port`.

News are a task without dependencies, so that the scheduler can compute them again wherever they are
needed. A question is a task of a station and the news. It is sent to the worker that holds the
station, or to any other if that worker is gone: then the scheduler makes the station again. Nothing
is scattered, and there are no actors: both are lost with their worker.

Only questions name a worker. A task that names one that is gone, at a time when there is no other,
is never run. So neither stations nor news name one, and such a question is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from distributed import Future

from widestreet._src.dask.station import Told, packed, told_by
from widestreet._src.dask.station_set import StationSet
from widestreet._src.kernels.poll import Poll
from widestreet._src.shards.news import News
from widestreet._src.shards.port import Arguments
from widestreet._src.training.sharded import Block, Recipe

Found = TypeVar("Found")


class StationBlocks:
    """The rows of stations as the blocks of a fit.

    Parameters
    ----------
    stations : StationSet
    """

    def __init__(self, stations: StationSet) -> None:
        self.stations = stations
        self._port: DaskPort | None = None

    def ask(self, question: Callable[[Block], Found], look: Callable[[], None]) -> list[Found]:
        """Return the answers of all blocks, in order."""
        each = dict.fromkeys(range(len(self.stations)), ())
        return [one.found for one in self.stations.ask(None, question, each, look).values()]

    def connect(self, recipe: Recipe) -> DaskPort:
        """Return a port to the shards of a problem, in place of the one before. Sets: port."""
        self._release_news()
        present = recipe.present
        sizes = [recipe.sizes[k] for k in present]
        self._port = DaskPort(self.stations, recipe, present, sizes)
        return self._port

    def _release_news(self) -> None:
        if self._port is not None:
            self._port.close()

    def close(self) -> None:
        """Release all futures of the fit. Sets: stations."""
        self._release_news()
        self.stations.release()


class DaskPort:
    """The shards of one problem on the stations of a cluster.

    Parameters
    ----------
    stations : StationSet
    recipe : Recipe
    present : sequence of int
        Stations that have a shard, in their order.
    sizes : sequence of int
        Rows of each shard.
    """

    def __init__(
        self, stations: StationSet, recipe: Recipe, present: Sequence[int], sizes: Sequence[int]
    ) -> None:
        self._stations, self._recipe, self._present = stations, recipe, list(present)
        self._sizes, self._problem = list(sizes), stations.key("problem")
        self._told: Future | None = None
        self._bytes = 0

    @property
    def sizes(self) -> Sequence[int]:
        return self._sizes

    def publish(self, news: News) -> None:
        """Hand the news to the scheduler. Sets: the task that the next questions depend on."""
        self.close()
        stations = self._stations
        stations.settle()
        written = packed(Told(self._problem, self._recipe, news))
        self._told = stations.submit("news", told_by, written)
        self._bytes = len(written)

    def ask(
        self, question: Callable[..., Found], each: Mapping[int, Arguments], poll: Poll
    ) -> dict[int, Found]:
        """Return the answers of some shards. Sets: kernel values of the poll."""
        if not each:
            return {}
        assert self._told is not None
        there = {self._present[k]: arguments for k, arguments in each.items()}
        answers = self._stations.ask(self._told, question, there, poll.look)
        traffic = self._stations.traffic
        traffic.wire_bytes += self._bytes * len({answer.worker for answer in answers.values()})
        self._bytes = 0  # workers keep the news
        poll.kernel_values += sum(answer.kernel_values for answer in answers.values())
        return {k: answers[self._present[k]].found for k in each}

    def close(self) -> None:
        """Release the future of the news. Sets: the task that questions depend on."""
        if self._told is not None:
            self._told.release()
            self._told = None
