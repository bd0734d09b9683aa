"""On which worker each station is, and when one should move.

A station stays where it is as long as its worker lives. Workers that come back or join have no
stations. A station moves if the busiest worker, rows over threads, is less busy afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

_SLACK = 1.1  # rows of a thread over its share up to which a partition stays where it is


def placed(
    sizes: Sequence[int], holders: Sequence[Collection[str]], threads: Mapping[str, int]
) -> list[tuple[str, list[int]]]:
    """Assign partitions to the threads of workers, large ones first.

    A partition goes to a worker that holds it unless that has more than its share by then.

    Parameters
    ----------
    sizes : sequence of int
        Rows of each partition.
    holders : sequence of collections of str
        Workers that hold each partition.
    threads : mapping
        Threads of each worker.

    Returns
    -------
    list of (str, list of int)
        The worker of each station, and its partitions in their order.
    """
    homes = [address for address, count in threads.items() for _ in range(count)]
    load = np.zeros(len(homes), dtype=np.int64)
    kept: list[list[int]] = [[] for _ in homes]
    share = sum(sizes) / len(homes)
    for k in sorted(range(len(sizes)), key=lambda k: (-sizes[k], k)):
        near = [i for i, home in enumerate(homes) if home in holders[k]]
        near = [i for i in near if load[i] + sizes[k] <= max(_SLACK * share, sizes[k])]
        i = min(near or range(len(homes)), key=lambda i: (load[i], i))
        load[i] += sizes[k]
        kept[i].append(k)
    return [(home, sorted(parts)) for home, parts in zip(homes, kept, strict=True) if parts]


def move(
    sizes: Sequence[int], homes: Sequence[str | None], threads: Mapping[str, int]
) -> tuple[int, str] | None:
    """Return a station and the worker it should move to; None if all are well where they are.

    Parameters
    ----------
    sizes : sequence of int
        Rows of each station.
    homes : sequence of str or None
        Worker of each station; None, or a worker that is gone, where it has none.
    threads : mapping
        Threads of each running worker.
    """
    if len(threads) < 2:
        return None
    rows = dict.fromkeys(threads, 0)
    for size, home in zip(sizes, homes, strict=True):
        if home in rows:
            rows[home] += size
    busiest = max(rows, key=lambda address: rows[address] / threads[address])
    idlest = min(rows, key=lambda address: rows[address] / threads[address])
    here = [k for k, home in enumerate(homes) if home == busiest]
    if not here:
        return None
    k = min(here, key=lambda k: (sizes[k], k))
    after = max(
        (rows[busiest] - sizes[k]) / threads[busiest], (rows[idlest] + sizes[k]) / threads[idlest]
    )
    return (k, idlest) if after < rows[busiest] / threads[busiest] else None
