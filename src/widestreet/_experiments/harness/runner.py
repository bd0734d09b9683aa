"""Run measurements in processes of their own and store each record at once.

Measurements of the same problem share a process. A measurement that a stored record answers is not
repeated. If a process dies, of a time limit or otherwise, that is the record of the measurement it
was busy with, and another process continues with the rest; further seeds of a method that exceeded
its limit are skipped.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence

from widestreet._experiments.harness.measurement import Experiment, Measurement
from widestreet._experiments.harness.records import Record, Store, disturbed
from widestreet._src.environment import with_threads

Watcher = Callable[[Measurement, Record | None], None]
Records = Generator[Record, None, None]
Stream = Callable[[Experiment, Sequence[Measurement]], Records]

COMMAND = [sys.executable, "-m", "widestreet._experiments", "measure"]


def require_timers() -> None:
    """Raise ValueError on systems without the timer that ends a fit that takes too long."""
    if not hasattr(signal, "SIGALRM"):
        raise ValueError("measurements need the timers of POSIX: run them on Linux, macOS or WSL")


def process(experiment: Experiment, chosen: Sequence[Measurement]) -> Records:
    """Yield records until the process has finished; if it dies, its last record says why."""
    require_timers()
    seconds = sum(one.limit + one.rest for one in chosen)
    with (
        tempfile.TemporaryFile("w+") as question,
        tempfile.TemporaryFile("w+", errors="replace") as errors,
    ):
        json.dump([one.facts for one in chosen], question)
        question.seek(0)
        done, late = 0, threading.Event()
        with subprocess.Popen(
            [*COMMAND, experiment.name],
            env=with_threads(chosen[0].threads),
            stdin=question,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
        ) as child:

            def end() -> None:
                late.set()
                child.kill()

            timer = threading.Timer(seconds, end)
            timer.start()
            try:
                for line in child.stdout or ():
                    if line.startswith("{"):
                        done += 1
                        yield json.loads(line)
                child.wait()
            finally:
                timer.cancel()
                child.kill()
        if done < len(chosen):
            errors.seek(0)
            said = f"not certified within {seconds:.0f} s" if late.is_set() else errors.read()
            yield _death(child.returncode, said)


def _death(status: int, said: str) -> Record:
    """Return the record of a process that ended too soon."""
    if status == -signal.SIGALRM:
        return {"status": "timeout", "exit": status}
    lines = said.strip().splitlines() or [f"exit status {status}"]
    return {"status": "failed", "reason": lines[-1][:200], "exit": status}


class Runner:
    """Runs measurements and keeps their records in a store.

    Attributes
    ----------
    fresh, again : bool
        Whether stored records are measured again: all, or those that other processes disturbed.
    watch : callable
        Called before each measurement (with None) and after it (with its record).
    seconds : float or None
        After which nothing new is started.
    stream : callable
        Makes the records of measurements of one problem; by default in a process.
    left_out : int
        Measurements that the deadline prevented.
    """

    def __init__(
        self,
        experiment: Experiment,
        store: Store,
        fresh: bool = False,
        again: bool = False,
        watch: Watcher = lambda one, record: None,
        seconds: float | None = None,
        stream: Stream = process,
    ) -> None:
        self.experiment, self.store, self.watch, self.stream = experiment, store, watch, stream
        self.fresh, self.again = fresh, again
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.left_out = 0
        self._new: set[str] = set()  # names of what this runner has measured

    def run(self, plan: Sequence[Measurement]) -> None:
        """Run everything that is not settled, problem by problem."""
        for problem, rows in dict.fromkeys((one.problem, one.rows) for one in plan):
            same = [one for one in plan if (one.problem, one.rows) == (problem, rows)]
            pending = [one for one in same if self.stored(one) is None]
            while pending:
                pending = self._run(pending)

    def record(self, one: Measurement) -> Record | None:
        """Return the record of a measurement, stored or new; None after the deadline."""
        old = self.stored(one)
        if old is None:
            self.run([one])
        return self.store.get(one.name) if old or one.name in self._new else None

    def stored(self, one: Measurement) -> Record | None:
        """Return the record that makes a measurement unnecessary, or None."""
        old = self.store.get(one.name)
        if old is None or not one.is_settled(old):
            return None
        unwanted = self.fresh or (self.again and disturbed(old))
        return old if one.name in self._new or not unwanted else None

    def _run(self, pending: list[Measurement]) -> list[Measurement]:
        """Run until all is done, the process dies, or time is up; return what is left to do."""
        records = self.stream(self.experiment, pending)
        for place, one in enumerate(pending):
            rest = pending[place + 1 :]
            if self.deadline is not None and time.monotonic() > self.deadline:
                self.left_out += 1 + len(rest)
                break
            self.watch(one, None)
            record = one.facts | next(records)
            self.store.put(one.name, record)
            self._new.add(one.name)
            self.watch(one, record)
            if "exit" in record:  # other seeds would take as long
                late = record["status"] == "timeout"
                return [other for other in rest if not late or other.method != one.method]
        records.close()
        return []
