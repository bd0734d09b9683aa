"""Disks that fill up while a machine is saved or journalled, and two processes on one journal.

A limit on the size of files (RLIMIT_FSIZE) lets a write fail at any byte, as a full disk does.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from faults.calls import Failure
from widestreet._src.persistence.journal import JournalError
from widestreet.datasets import friedman
from widestreet.online import OnlineSVR, load


@contextmanager
def full(size: int) -> Iterator[None]:
    """No file may become larger than this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Files:
    """Lets one write fail, or one process be refused, at a time."""

    def __init__(self) -> None:
        self.X, self.y = friedman(60, random_state=1)
        self._second: subprocess.Popen | None = None
        self._error: OSError | None = None  # the last one; nothing may depend on its end

    def __call__(self, i: int, rng: np.random.Generator) -> tuple[str, str, str]:
        """Cause a fault; return its group, what it was, and what was left."""
        with tempfile.TemporaryDirectory() as folder:
            kinds = (self._archive, self._append, self._create, self._second_writer)
            return kinds[i % len(kinds)](Path(folder), rng)

    def _machine(self, **options: Any) -> Any:
        return OnlineSVR(n_jobs=1).partial_fit(self.X[:30], self.y[:30], **options)

    def _must_fail(self, size: int, call: Callable[[], Any]) -> None:
        """Call something that needs larger files than there may be."""
        try:
            with full(size):
                call()
        except OSError as error:
            self._error = error
        else:
            raise Failure(f"it worked with files of at most {size} bytes")

    def _archive(self, folder: Path, rng: np.random.Generator) -> tuple[str, str, str]:
        path = folder / "model.street"
        machine = self._machine()
        machine.save(path)
        old = path.read_bytes()
        machine.partial_fit(self.X[30:], self.y[30:])
        self._must_fail(int(rng.integers(len(old))), lambda: machine.save(path))
        if path.read_bytes() != old or len(os.listdir(folder)) != 1:
            raise Failure("the old file has changed, or there is another")
        machine.save(path)
        _same(load(path), machine)
        return "full disk: archive", "save", "the old file"

    def _append(self, folder: Path, rng: np.random.Generator) -> tuple[str, str, str]:
        path = folder / "rows.journal"
        machine = self._machine(journal=path)
        old = path.read_bytes()
        room = int(rng.integers(0, len(old) + 300))
        before = machine.predict(self.X)
        self._must_fail(
            room, lambda: machine.partial_fit(self.X[30:40], self.y[30:40], journal=path)
        )
        if machine.n_rows_ != 30 or (room >= len(old) and path.read_bytes() != old):
            raise Failure("the journal or the machine has changed")  # with less room it is undone
        if not np.array_equal(machine.predict(self.X), before):
            raise Failure("the model has changed")
        machine.partial_fit(self.X[40:42], self.y[40:42], journal=path).forget(3, journal=path)
        machine.end_journal()
        _same(load(path), machine)
        return "full disk: journal", "append", "as before"

    def _create(self, folder: Path, rng: np.random.Generator) -> tuple[str, str, str]:
        path = folder / "rows.journal"
        machine = self._machine()
        size = int(rng.integers(0, 8000))
        self._must_fail(size, lambda: machine.partial_fit(self.X[30:], self.y[30:], journal=path))
        if machine.n_rows_ != 30:
            raise Failure("the machine has changed")
        machine.partial_fit(self.X[30:], self.y[30:], journal=path).end_journal()
        _same(load(path), machine)
        return "full disk: new journal", "create", "as before"

    def _second_writer(self, folder: Path, rng: np.random.Generator) -> tuple[str, str, str]:
        path = folder / "rows.journal"
        machine = self._machine(journal=path)
        if self._second is None:
            command = [sys.executable, "-W", "ignore", "-m", "faults.files"]
            self._second = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        how = str(rng.choice(["load", "partial_fit"]))
        print(how, path, file=self._second.stdin, flush=True)
        answer = self._second.stdout.readline().strip()
        if "JournalError" not in answer or "is open for appending elsewhere" not in answer:
            raise Failure(f"the second process got {answer}")
        machine.partial_fit(self.X[30:33], self.y[30:33], journal=path)
        machine.end_journal()
        _same(load(path), machine)
        return "second process", how, "refused"


def _same(one: Any, other: Any) -> None:
    X, _ = friedman(60, random_state=1)
    if one.ids_.tolist() != other.ids_.tolist() or one.verify().status != "optimal":
        raise Failure("the file holds another machine")
    if np.abs(one.predict(X) - other.predict(X)).max() > 1e-8:
        raise Failure("the machine from the file predicts otherwise")


def second() -> None:
    """Try to write to journals that somebody else is writing to; one line for each."""
    X, y = friedman(60, random_state=1)
    for line in sys.stdin:
        how, path = line.split()
        try:
            if how == "load":
                load(path)
            else:
                OnlineSVR(n_jobs=1).fit(X[:20], y[:20]).partial_fit(X[20:], y[20:], journal=path)
            print("nothing", flush=True)
        except (JournalError, OSError) as error:
            print(type(error).__name__, error, flush=True)


FAULT = Files

if __name__ == "__main__":
    second()
