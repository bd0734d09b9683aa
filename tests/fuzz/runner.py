"""Cases in child processes, so that a crash or a hang is found and named.

A child announces the number of a case before it runs it. If it ends, or says nothing for too long,
that case has failed and another child goes on behind it.
"""

from __future__ import annotations

import importlib
import multiprocessing
import resource
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

MEMORY = 6 << 30  # bytes of address space of a child: a request for more is a MemoryError


@dataclass
class Outcome:
    """How many cases ended in which way, and lines about those that failed."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return sum(self.counts.values())


def _work(module: str, seed: int, cases: Iterable[int], current: Any, found: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    run = importlib.import_module(module).run
    for index in cases:
        current.value = index
        found.send((index, *run(seed, index)))


class _Child:
    """A process that works on every `step`-th case."""

    def __init__(self, module: str, seed: int, cases: range) -> None:
        self.cases, self.module, self.seed = cases, module, seed
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.current = context.Value("q", -1)
        self.found, other = context.Pipe(duplex=False)
        arguments = (self.module, self.seed, self.cases, self.current, other)
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        self.process.start()
        other.close()
        self.seen, self.since = -1, time.monotonic()

    def results(self) -> Iterator[tuple[int, str, str | None]]:
        """Yield what was found since the last time."""
        try:
            while self.found.poll():
                yield self.found.recv()
        except EOFError:
            return

    def trouble(self, patience: float) -> str | None:
        """Say what is wrong with the case at hand."""
        if self.current.value != self.seen:
            self.seen, self.since = self.current.value, time.monotonic()
        if self.process.exitcode not in (None, 0):
            return f"the process ended with {self.process.exitcode}"
        begun = self.seen >= 0
        if begun and self.process.is_alive() and time.monotonic() - self.since > patience:
            return f"no end after {patience:g} s"
        return None

    def skip(self) -> None:
        """Begin again behind the case at hand, when the process has been stopped."""
        at = self.current.value
        self.cases = self.cases[self.cases.index(at) + 1 :] if at in self.cases else range(0)
        self.start()

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def run_cases(
    module: str,
    seed: int,
    count: int,
    *,
    seconds: float = float("inf"),
    processes: int = 2,
    patience: float = 120.0,
    report: Any = lambda line: None,
) -> Outcome:
    """Run cases 0 to count - 1 of a module that has `run(seed, index)`."""
    outcome, end = Outcome(), time.monotonic() + seconds

    def note(index: int, status: str, wrong: str | None) -> None:
        outcome.counts[status] += 1
        if wrong is not None:
            outcome.failures.append(f"{seed}/{index} {wrong}")
            report(outcome.failures[-1])

    children = [_Child(module, seed, range(k, count, processes)) for k in range(processes)]
    try:
        while time.monotonic() < end:
            time.sleep(0.05)
            done = all(child.process.exitcode == 0 for child in children)
            for child in children:
                wrong = child.trouble(patience)
                if wrong is not None:
                    child.stop()
                for one in child.results():
                    note(*one)
                if wrong is not None:
                    note(child.current.value, "lost", wrong)
                    child.skip()
            if done:
                break
    finally:
        for child in children:
            child.stop()
    return outcome
