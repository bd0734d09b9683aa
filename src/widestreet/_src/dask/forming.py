"""Stations made of partitions, on the workers that hold most of them."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from widestreet._src.dask import homes
from widestreet._src.dask.gathering import Gathered, stacked
from widestreet._src.dask.members import merged
from widestreet._src.dask.reading import Part
from widestreet._src.dask.station import Station
from widestreet._src.dask.station_set import StationSet
from widestreet._src.dask.waiting import wait_for_workers
from widestreet._src.rows import Vectors
from widestreet._src.rows.labels import Labels
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.training.sharded import Block

_LARGE_PARTITION = 2.0  # times the rows of a thread: such a partition keeps others waiting


@dataclass(frozen=True, eq=False)
class Form:
    """Form of the rows and the classes, the same for all stations.

    Attributes
    ----------
    none : Vectors
        No rows, in the form that all rows have.
    labels : Labels or None
        The classes, if there are any.
    """

    none: Vectors
    labels: Labels | None

    def block(self, number: int, begins: list[int], parts: list[Part]) -> Block:
        """Return the rows of some partitions, whose first rows have the numbers `begins`."""
        rows = stacked([part.rows for part in parts])
        rows = rows.astype(self.none.data.dtype, copy=False)
        sizes = [part.rows.shape[0] for part in parts]
        weight = [
            np.ones(size) if part.weight is None else part.weight
            for part, size in zip(parts, sizes, strict=True)
        ]
        origin = [np.arange(a, a + size) for a, size in zip(begins, sizes, strict=True)]
        return Block(
            self.none.holding(rows),
            np.concatenate([self._target(part) for part in parts]),
            np.concatenate(weight),
            np.concatenate(origin),
            number,
        )

    def _target(self, part: Part) -> Any:
        if part.target is None:
            return np.zeros(part.rows.shape[0])
        if self.labels is None:
            return part.target
        classes = self.labels.classes
        code = np.searchsorted(classes, np.asarray(part.target))
        return np.minimum(code, len(classes) - 1)  # classes that are left out have weight zero


def station(form: Form, number: int, begins: list[int], *parts: Part) -> Station:
    """Return the station of some partitions."""
    return Station(merged(form.block(number, begins, list(parts))))


def stations_of(gathered: Gathered, form: Form, look: Callable[[], None]) -> StationSet:
    """Make a station for each thread of the workers. The partitions are released.

    Workers are waited for if there are none; `look` may end the wait.

    Stations are not bound to workers: the scheduler makes them where their partitions are, and
    would never make one again whose worker is gone if it were bound to it.

    Sets: the futures of the partitions.
    """
    client, sizes = gathered.client, gathered.sizes
    threads = {address: one.threads for address, one in wait_for_workers(client, look).items()}
    held = client.who_has(gathered.futures)
    holders = [held.get(future.key, ()) for future in gathered.futures]
    plan = homes.placed(sizes, holders, threads)
    _warn_of_large(gathered, sum(threads.values()))
    begins = np.cumsum(sizes) - sizes
    fit, spec = (
        uuid.uuid4().hex,
        client.submit(_same, form, key=f"widestreet-form-{uuid.uuid4().hex}"),
    )
    stations = [
        client.submit(
            station,
            spec,
            number,
            [int(begins[k]) for k in kept],
            *(gathered.futures[k] for k in kept),
            key=f"widestreet-station-{fit}-{number}",
        )
        for number, (_, kept) in enumerate(plan)
    ]
    spec.release()
    gathered.release()
    rows = [sum(sizes[k] for k in kept) for _, kept in plan]
    bytes_per_row = form.none.data.dtype.itemsize * form.none.shape[1]

    def describe(i: int) -> tuple[str, str]:
        numbers = [gathered.numbers[k] for k in plan[i][1]]
        name = f"partition{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:5]))}"
        more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
        size = f"{rows[i]:,} rows, {rows[i] * bytes_per_row / 1e9:.2f} GB if dense"
        most = max(1, max(sizes[k] for k in plan[i][1]) // 4)
        cure = f"use more workers, more memory, or partitions of at most {most:,} rows"
        return f"{name}{more} ({size})", cure

    return StationSet(client, stations, rows, [home for home, _ in plan], describe)


def _same(form: Form) -> Form:
    return form


def _warn_of_large(gathered: Gathered, threads: int) -> None:
    """Warn if one partition has so many rows that most threads wait for one."""
    sizes = gathered.sizes
    k = int(np.argmax(sizes))
    if threads > 1 and sizes[k] > _LARGE_PARTITION * sum(sizes) / threads:
        warnings.warn(
            f"partition {gathered.numbers[k]} has {sizes[k]:,} of {sum(sizes):,} rows, and there "
            f"are {threads} worker threads: most of them will wait for one; repartition the data",
            UserWarning,
            stacklevel=level_of_caller(),
        )
