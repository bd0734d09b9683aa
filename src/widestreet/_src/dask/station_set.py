"""The stations of a fit: where they are, what is asked of them, and what travelled."""

from __future__ import annotations

import pickle
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import cloudpickle
from distributed import Client, Future

from widestreet._src.dask import homes
from widestreet._src.dask.connection import Worker, workers_of
from widestreet._src.dask.station import Answer, ask
from widestreet._src.dask.waiting import collect

_PIECE = 8_000_000  # bytes of a task; the scheduler is for small ones and warns from 10 MB on


@dataclass
class Traffic:
    """Costs of a fit so far.

    Attributes
    ----------
    wire_bytes : int
        Bytes of news, questions and answers, before any compression. News count once for each
        worker that is asked.
    rebuilt : int
        Stations that were lost with their worker and made again.
    workers : int
        Workers that answered the last question.
    """

    wire_bytes: int = 0
    rebuilt: int = 0
    workers: int = 0


class StationSet:
    """Stations as tasks of a cluster.

    Parameters
    ----------
    client : Client
    stations : sequence of Future
    sizes : sequence of int
        Rows of each station.
    home : sequence of str
        Address of the worker of each station.
    describe : callable
        Returns what station k holds, and what to do if it ends its workers.

    Attributes
    ----------
    traffic : Traffic
    """

    def __init__(
        self,
        client: Client,
        stations: Sequence[Future],
        sizes: Sequence[int],
        home: Sequence[str],
        describe: Callable[[int], tuple[str, str]],
    ) -> None:
        self.client, self.sizes, self.traffic = client, list(sizes), Traffic()
        self._stations, self._home = list(stations), list(home)
        self._describe = describe
        self._fit, self._serial = uuid.uuid4().hex, 0
        self._young = set(range(len(sizes)))  # stations that have not answered since they came
        self._stopped = False

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def most_rows(self) -> int:
        """Rows of the worker that has the most."""
        rows: Counter[str] = Counter()
        for size, home in zip(self.sizes, self._home, strict=True):
            rows[home] += size
        return max(rows.values())

    def key(self, what: str) -> str:
        """Return a new key for a task. Sets: its serial number."""
        self._serial += 1
        return f"widestreet-{what}-{self._fit}-{self._serial}"

    def ask(
        self, told: Future | None, question: Callable[..., Any], each: Mapping[int, Any], look: Any
    ) -> dict[int, Answer]:
        """Return the answers of some stations, in order.

        Parameters
        ----------
        told : Future or None
            What all of them are told.
        question : function
        each : mapping
            The arguments for each station that is asked.
        look : callable
            Called while the answers are waited for; may raise. After an interrupt no station
            is asked any more.

        Sets: traffic, homes.
        """
        name = getattr(getattr(question, "func", question), "__name__", "question")
        payloads = {k: cloudpickle.dumps((question, arguments), 5) for k, arguments in each.items()}
        asked = list(each)

        def submit(k: int, **where: Any) -> Future:
            return self.client.submit(
                ask, self._stations[k], told, payloads[k], key=self.key(name), **where
            )

        futures: list[Future] = []
        renewed: set[int] = set()

        def renew(pending: Sequence[int], workers: Mapping[str, Worker]) -> dict[int, Future]:
            """Ask again for what no worker will ever do.

            If there was no worker when a task became ready, the scheduler keeps it for the worker
            that it names, even if other workers join later. The new task names none: the scheduler
            never keeps it back, and counts the workers that it ends.
            """
            running = {key for keys in self.client.processing().values() for key in keys}
            lost = [
                i
                for i in pending
                if self._home[asked[i]] not in workers
                and i not in renewed
                and futures[i].key not in running
            ]
            renewed.update(lost)
            return {i: submit(asked[i]) for i in lost}

        with self.attended():
            futures += [submit(k, workers=[self._home[k]], allow_other_workers=True) for k in asked]
            found = collect(self.client, futures, look, lambda i: self._describe(asked[i]), renew)
        answers = {k: pickle.loads(answer) for k, answer in zip(asked, found, strict=True)}
        self.traffic.wire_bytes += sum(map(len, payloads.values())) + sum(map(len, found))
        self._note(answers)
        return answers

    @contextmanager
    def attended(self) -> Iterator[None]:
        """Wait for workers within the block. After an interrupt nothing is waited for any more.

        Ctrl-C in a terminal ends the workers of a local cluster, too. Sets: stopped.
        """
        if self._stopped:
            raise KeyboardInterrupt
        try:
            yield
        except KeyboardInterrupt:
            self.stop()
            raise

    def stop(self) -> None:
        """Refuse all further questions. Sets: stopped."""
        self._stopped = True

    def submit(self, what: str, function: Callable[..., Any], written: bytes) -> Future:
        """Return a task of a function that takes bytes, in pieces if they are many."""
        submit = self.client.submit
        pieces = [written[a : a + _PIECE] for a in range(0, len(written), _PIECE)]
        if len(pieces) == 1:
            return submit(function, written, key=self.key(what))
        sent = [submit(bytes, piece, key=self.key("piece")) for piece in pieces]
        return submit(function, *sent, key=self.key(what))

    def _note(self, answers: Mapping[int, Answer]) -> None:
        """Learn from answers where the stations are. Sets: traffic, homes."""
        self.traffic.workers = len({answer.worker for answer in answers.values()})
        for k, answer in answers.items():
            if answer.fresh and k not in self._young:
                self.traffic.rebuilt += 1
            self._young.discard(k)
            self._home[k] = answer.worker

    def settle(self) -> None:
        """Move a station if that makes the busiest worker less busy. Sets: homes."""
        if self._stopped:
            return
        threads = {
            address: worker.threads
            for address, worker in workers_of(self.client).items()
            if worker.status == "running"
        }
        found = homes.move(self.sizes, self._home, threads)
        if found is not None:
            k, self._home[found[0]] = found
            self._young.add(k)

    def release(self) -> None:
        """Release the futures of the stations. Sets: stations."""
        for station in self._stations:
            station.release()
