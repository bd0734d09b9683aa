"""The cost model of a fit on a Dask cluster beside measurements, on checkerboard data.

With n rows, s support vectors, d features, a working set of W rows and K workers of one thread,

    seconds = rounds (coordinator + wire) + (passes + examination) n s / (kappa K)

`coordinator` is the time to solve a working set, `wire` the time of the news and of two questions,
kappa the number of kernel values per second of one core. Rounds and passes depend on s / W.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

from widestreet._experiments.harness.clock import seconds
from widestreet._experiments.harness.tables import count, digits, markdown
from widestreet._experiments.solvers.cluster import client
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import as_rows
from widestreet.datasets import checkerboard

PARAMETERS = {"C": 100.0, "gamma": 2.0, "random_state": 0}
PARTS_PER_WORKER = 4

# Measured on checkerboard data of 100,000 rows with smaller and smaller working sets.
_SUPPORT_OVER_WORK = (1.3, 2.6, 5.2, 10.0, 21.0)
_ROUNDS = (10.0, 14.0, 27.0, 57.0, 132.0)
_PASSES = (0.9, 1.0, 1.3, 2.1, 3.6)  # kernel values of all surveys, over n s
_EXAMINATION = 1.05  # those of an examination, over n s

_COORDINATOR = 0.2  # seconds for a full working set
_BANDWIDTH = 1e9  # bytes per second
_QUESTION = 0.003, 0.001  # seconds of a question, and for each worker that is asked
_SCANNED = 40960, 2048  # rows and vectors of the scan that measures the speed of a core


@dataclass(frozen=True)
class Cost:
    """The cost model.

    Attributes
    ----------
    rows : int
    workers : int
        Of one thread each.
    kappa : float
        Kernel values per second of one core.
    columns, itemsize : int
        Features of a row, and bytes of each.
    work : int
        Rows of the working set.
    """

    rows: int
    workers: int
    kappa: float
    columns: int = 2
    itemsize: int = 8
    work: int = 8192

    @property
    def support(self) -> float:
        """Support vectors of checkerboard data with C = 100 and gamma = 2."""
        return 2696 * float((self.rows / 1e5) ** 0.69)

    @property
    def rounds(self) -> float:
        return float(np.interp(self.support / self.work, _SUPPORT_OVER_WORK, _ROUNDS))

    @property
    def kernel_values(self) -> float:
        passes = float(np.interp(self.support / self.work, _SUPPORT_OVER_WORK, _PASSES))
        return (passes + _EXAMINATION) * self.rows * self.support

    @property
    def news_bytes(self) -> float:
        """Bytes of the last news, to one worker."""
        return self.support * (self.itemsize * self.columns + 16) + 8 * self.work

    @property
    def seconds(self) -> float:
        fixed, each = _QUESTION
        wire = self.workers * self.news_bytes / _BANDWIDTH + 2 * (fixed + each * self.workers)
        solve = _COORDINATOR * min(1.0, self.support / self.work)
        return self.rounds * (solve + wire) + self.kernel_values / (self.kappa * self.workers)


def core_speed() -> float:
    """Return the kernel values per second of one core, in float32 as in surveys."""
    rows, vectors = _SCANNED
    X = np.random.default_rng(0).standard_normal((rows, 2)).astype(np.float32)
    gram = Gram(RBF(PARAMETERS["gamma"]), as_rows(X), as_rows(X[:vectors].copy()), threads=1)
    best = min(seconds(lambda: gram.scan(None, None, np.ones(vectors), dtype=np.float32))
               for _ in range(5))  # fmt: skip
    return rows * vectors / best


def measured(rows: int, workers: int) -> tuple[float, Any]:
    """Return the seconds of a fit on a local cluster and the model; the rows are there before."""
    import dask.array as da
    from distributed import wait

    from widestreet import dask

    X, y = checkerboard(rows, random_state=0)
    chunk = -(-rows // (PARTS_PER_WORKER * workers))
    given = [da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)]
    given = client(workers).persist(given)
    wait(given)
    model = dask.SVC(**PARAMETERS, client=client(workers))
    return seconds(model.fit, *given), model


def line(rows: int, workers: int, kappa: float) -> list[str]:
    """Return a line of the table: predicted and measured figures in turn."""
    cost = Cost(rows, workers, kappa)
    taken, model = measured(rows, workers)
    pairs = [
        (digits(cost.seconds), digits(taken)),
        (f"{cost.kernel_values:.2g}", f"{model.n_kernel_values_:.2g}"),
        (count(cost.rounds), count(len(model.trace_))),
        (count(cost.support), count(len(model.support_))),
    ]
    status = str(model.certificate_.status)
    return [count(rows), str(workers), *(cell for pair in pairs for cell in pair), status]


HEAD = ["rows", "workers"] + [
    f"{what}, {how}"
    for what in ("seconds", "kernel values", "rounds", "support vectors")
    for how in ("predicted", "measured")
] + ["status"]  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--rows", action="append", type=float, metavar="N", help="default: 1e6; may be repeated")
    add("--workers", action="append", type=int, metavar="K", help="default: 1 and 2")


def main(options: argparse.Namespace) -> None:
    """Measure and print the table."""
    kappa = core_speed()
    print(f"{kappa:.2g} kernel values per second of one core\n", flush=True)
    sizes = [int(rows) for rows in options.rows or [1e6]]
    every = [(rows, workers) for rows in sizes for workers in options.workers or [1, 2]]
    print(markdown(HEAD, [line(rows, workers, kappa) for rows, workers in every]))
