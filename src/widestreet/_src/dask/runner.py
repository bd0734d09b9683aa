"""Work that needs no station, such as the sample of a site, on the workers of a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import TypeVar

import cloudpickle

from widestreet._src.dask.station_set import StationSet
from widestreet._src.dask.waiting import collect

Item = TypeVar("Item")
Result = TypeVar("Result")


class DaskRunner:
    """Applies functions on the workers.

    Parameters
    ----------
    stations : StationSet
        Of the same fit: after an interrupt neither are they asked, nor is anything run.
    look : callable
        Called while results are waited for; may raise. What is run has a limit of its own, but
        there may be no worker to run it.
    """

    def __init__(self, stations: StationSet, look: Callable[[], None]) -> None:
        self._stations, self._look = stations, look

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        on_interrupt: Callable[[], None] | None = None,
        interrupted: Callable[[Result], bool] | None = None,
    ) -> list[Result]:
        """Return [function(item) for item in items].

        An interrupt ends the wait at once, and what was being computed is lost: Ctrl-C in a
        terminal ends the workers of a local cluster, too.
        """
        stations = self._stations
        sent = [cloudpickle.dumps((function, item), 5) for item in items]
        with stations.attended():
            futures = [stations.submit("sample", run, written) for written in sent]
            found = collect(stations.client, futures, self._look, _describe)
        stations.traffic.wire_bytes += sum(map(len, sent)) + sum(map(len, found))
        return [pickle.loads(result) for result in found]


def run(*pieces: bytes) -> bytes:
    """Return the written result of a written call."""
    function, item = pickle.loads(b"".join(pieces))
    return pickle.dumps(function(item), 5)


def _describe(k: int) -> tuple[str, str]:
    return f"sample {k}", "use a smaller sample_size, or workers with more memory"
