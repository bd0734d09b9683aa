"""Processes killed while they change a journalled machine: nothing acknowledged is lost."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from faults.calls import Failure
from widestreet.datasets import friedman
from widestreet.online import OnlineSVR, load

_ROWS = 2000  # they come again and again


class Kills:
    """Kills one process at a time; each goes on from where the last was killed.

    A process adds rows one by one, which makes others go, says so after each, and saves the machine
    now and then.
    """

    def __init__(self) -> None:
        self.X, self.y = friedman(_ROWS, random_state=1)
        self._folder = tempfile.TemporaryDirectory()
        self.model = Path(self._folder.name) / "model.street"
        self.journal = Path(self._folder.name) / "rows.journal"
        machine = OnlineSVR(max_rows=25, n_jobs=1).fit(self.X[:20], self.y[:20])
        machine.partial_fit(self.X[20:21], self.y[20:21], journal=self.journal).end_journal()
        self.arrived = 21

    def _load(self) -> Any:
        if self.model.exists():
            return load(self.model, journal=self.journal)
        return load(self.journal)

    def __call__(self, i: int, rng: np.random.Generator) -> tuple[str, str, str]:
        """Kill a process; return whether there is a row that was not acknowledged."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            self._add_for_ever(write)
        os.close(write)
        said, wanted = b"", int(rng.integers(0, 9))
        while said.count(b"\n") < wanted and (part := os.read(read, 1 << 16)):
            said += part
        time.sleep(float(rng.uniform(0.0, 0.02)))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        while part := os.read(read, 1 << 16):
            said += part
        os.close(read)
        if not os.WIFSIGNALED(status):
            raise Failure("the process ended by itself")
        acknowledged = max([self.arrived, *(int(line) for line in said.split(b"\n")[:-1])])
        machine = self._load()
        machine.end_journal()
        self.arrived = machine._state.store.arrived
        if not acknowledged <= self.arrived <= acknowledged + 1:
            raise Failure(f"{acknowledged} rows were acknowledged, {self.arrived} are there")
        if machine.verify().status != "optimal":
            raise Failure(f"verify() says {machine.verify()}")
        more = self.arrived > acknowledged
        return "journal", "kill", "one more than acknowledged" if more else "all acknowledged"

    def _add_for_ever(self, write: int) -> None:
        """Add rows one by one; never returns."""
        try:
            machine = self._load()
            while True:
                at = machine._state.store.arrived % _ROWS
                machine.partial_fit(self.X[at : at + 1], self.y[at : at + 1], journal=self.journal)
                os.write(write, b"%d\n" % machine._state.store.arrived)
                if at % 7 == 0:
                    machine.save(self.model)
        finally:
            os._exit(1)


FAULT = Kills
