"""Runs measurements, those of the same data in one process, and stores each as soon as it is done.

A record that answers a measurement is not made again. If a process dies, of a time limit or
otherwise, that is the record of the measurement it was busy with, and another process goes on with
what is left; further seeds of a method that was too late are not tried.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

from widestreet.benchmarks.records import Record, Store
from widestreet.benchmarks.runner import environment

from .measurement import Measurement
from .paper import Paper

Watcher = Callable[[Measurement, Record | None], None]
Stream = Callable[[Paper, Sequence[Measurement]], Iterator[Record]]


def process(paper: Paper, chosen: Sequence[Measurement]) -> Iterator[Record]:
    """Records until the process has done everything, or dies: that is the last record."""
    asked = {"paper": paper.name, "measurements": [one.facts for one in chosen]}
    module = f"{__package__}.measure"
    with (
        tempfile.TemporaryFile("w+") as question,
        tempfile.TemporaryFile("w+", errors="replace") as errors,
    ):
        json.dump(asked, question)
        question.seek(0)
        done = 0
        with subprocess.Popen(
            [sys.executable, "-m", module],
            env=environment(chosen[0].threads),
            stdin=question,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
        ) as child:
            try:
                for line in child.stdout or ():
                    if line.startswith("{"):
                        done += 1
                        yield json.loads(line)
                child.wait()
            finally:
                child.kill()
        if done < len(chosen):
            errors.seek(0)
            yield _death(child.returncode, errors.read())


def _death(status: int, said: str) -> Record:
    """The record of a process that ended too soon."""
    if status == -signal.SIGALRM:
        return {"status": "timeout", "exit": status}
    lines = said.strip().splitlines() or [f"exit status {status}"]
    return {"status": "failed", "reason": lines[-1][:200], "exit": status}


class Runner:
    """Runs measurements and keeps their records in a store.

    Attributes
    ----------
    fresh : bool
        Whether records that exist are made again.
    watch : callable
        Told of each measurement before (with None) and after (with its record).
    seconds : float or None
        After which nothing new is begun.
    stream : callable
        Makes the records of measurements of one problem; by default a process does.
    """

    def __init__(
        self,
        paper: Paper,
        store: Store,
        fresh: bool = False,
        watch: Watcher = lambda one, record: None,
        seconds: float | None = None,
        stream: Stream = process,
    ) -> None:
        self.paper, self.store, self.fresh, self.watch = paper, store, fresh, watch
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.stream = stream
        self.left_out = 0  # measurements that the deadline prevented

    def run(self, plan: Sequence[Measurement]) -> None:
        """All that is not settled, problem by problem."""
        for problem, rows in dict.fromkeys((one.problem, one.rows) for one in plan):
            same = [one for one in plan if (one.problem, one.rows) == (problem, rows)]
            pending = [one for one in same if self.fresh or not self._settled(one)]
            while pending:
                pending = self._run(pending)

    def _settled(self, one: Measurement) -> bool:
        return one.is_settled(self.store.get(one.name))

    def _run(self, pending: list[Measurement]) -> list[Measurement]:
        """Until all is done, the process dies, or time is up; what is left to do."""
        records = self.stream(self.paper, pending)
        for place, one in enumerate(pending):
            rest = pending[place + 1 :]
            if self._late():
                self.left_out += 1 + len(rest)
                break
            self.watch(one, None)
            record = one.facts | next(records)
            self.store.put(one.name, record)
            self.watch(one, record)
            if "exit" in record:  # others of its kind would not end either
                late = record["status"] == "timeout"
                return [other for other in rest if not late or other.method != one.method]
        _close(records)
        return []

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline


def _close(records: Iterator[Record]) -> None:
    """End a process that may be busy with what nobody waits for any more."""
    close = getattr(records, "close", None)
    if close is not None:
        close()
