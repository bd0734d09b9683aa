"""The partitions of a fit, read by the workers, and what is to be known of all of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.delayed import delayed
from distributed import Client, Future
from scipy import sparse

from widestreet._src.arrays import Floats
from widestreet._src.dask.collections import Partitions
from widestreet._src.dask.reading import Part, Reader, Refusal, summary
from widestreet._src.dask.waiting import collect
from widestreet._src.rows.census import Census


@dataclass(frozen=True, eq=False)
class Gathered:
    """Partitions that have rows, and the summary of each.

    Attributes
    ----------
    futures : list of Future
        A `Part` each.
    numbers : list of int
        The number of each among the partitions of the user.
    censuses : list of Census
    """

    client: Client
    futures: list[Future]
    numbers: list[int]
    censuses: list[Census]

    @property
    def sizes(self) -> list[int]:
        """Rows of each partition."""
        return [census.rows for census in self.censuses]

    def release(self) -> None:
        """Release the futures of the partitions. Sets: futures."""
        for future in self.futures:
            future.release()

    def local(self, look: Callable[[], None]) -> tuple[Any, Any, Floats | None]:
        """Return all rows, their targets and their weights in this process."""
        parts: list[Part] = collect(self.client, self.futures, look, self._describe)
        rows = stacked([part.rows for part in parts])
        target = None
        if parts[0].target is not None:
            target = np.concatenate([part.target for part in parts])
        weight = None
        if parts[0].weight is not None:
            weight = np.concatenate([part.weight for part in parts])
        return rows, target, weight

    def _describe(self, i: int) -> tuple[str, str]:
        return f"partition {self.numbers[i]}", "use partitions of fewer rows"


def gather(
    client: Client, partitions: Partitions, reader: Reader, look: Callable[[], None]
) -> Gathered:
    """Read and summarise all partitions, or raise the error of the first that is refused."""
    y = partitions.y or [None] * len(partitions)
    weight = partitions.weight
    weights = weight if isinstance(weight, list) else [weight] * len(partitions)
    fit = uuid.uuid4().hex
    read = delayed(reader, pure=False, traverse=False)
    parts = [
        read(k, *arrays, dask_key_name=f"widestreet-read-{fit}-{k}")
        for k, arrays in enumerate(zip(partitions.X, y, weights, strict=True))
    ]
    futures: list[Future] = client.compute(parts)
    summaries = [
        client.submit(summary, future, reader.targets, key=f"widestreet-census-{fit}-{k}")
        for k, future in enumerate(futures)
    ]

    def describe(k: int) -> tuple[str, str]:
        cure = "use smaller partitions, for example with repartition or rechunk"
        return f"partition {k}, which was being read,", cure

    try:
        found = collect(client, summaries, look, describe)
        refused = next((one for one in found if isinstance(one, Refusal)), None)
        if refused is not None:
            raise refused.kind(refused.message)
        _require_alike(found)
    except BaseException:
        for future in futures:
            future.release()
        raise
    used = [k for k, census in enumerate(found) if census is not None]
    for k in set(range(len(futures))) - set(used):
        futures[k].release()
    return Gathered(client, [futures[k] for k in used], used, [found[k] for k in used])


def stacked(blocks: list[Any]) -> Any:
    """Return dense or CSR rows in one block."""
    if sparse.issparse(blocks[0]):
        return sparse.vstack(blocks, format="csr")
    return np.concatenate(blocks)


def _require_alike(censuses: list[Census | None]) -> None:
    """Raise an error that names the first partition that does not fit to the first one."""
    there = [(k, census) for k, census in enumerate(censuses) if census is not None]
    if not there:
        raise ValueError("X has no rows: all partitions are empty")
    first, known = there[0]
    for k, census in there:
        if census.sparse != known.sparse:
            kinds = ("sparse", "dense") if census.sparse else ("dense", "sparse")
            raise TypeError(
                f"partition {k} of X is {kinds[0]} and partition {first} is {kinds[1]}: convert "
                "all partitions to one of the two"
            )
        if census.columns != known.columns:
            raise ValueError(
                f"partition {k} of X has {census.columns} columns and partition {first} has "
                f"{known.columns}"
            )
