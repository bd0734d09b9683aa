"""The common part of `widestreet race` and `widestreet reproduce`."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from widestreet._experiments.harness import machine
from widestreet._experiments.harness.measurement import Measurement
from widestreet._experiments.harness.records import Record, Store
from widestreet._experiments.harness.tables import brief
from widestreet._src.environment import allow_downloads

PAGE, MACHINE = "report.md", "machine.json"


class Session:
    """One call of a command: its options, its folder of records and its console.

    Attributes
    ----------
    out : Path
        The folder of the records and of the report.
    threads : int
        Threads of every measurement.
    """

    def __init__(self, options: argparse.Namespace, folder: str) -> None:
        self.options, self.console = options, Console(highlight=False)
        self.out: Path = options.out or Path(folder + ("-quick" if options.quick else ""))
        self.store = Store(self.out)
        if options.no_run and not (self.out / MACHINE).exists():
            raise ValueError(f"there is nothing to report on in {str(self.out)!r}")
        stored = int(self.machine["threads"]) if options.no_run else machine.threads()
        self.threads = stored if options.threads is None else options.threads
        if self.threads < 1:
            raise ValueError(f"--threads must be at least 1, got {self.threads}")
        if options.download:
            allow_downloads()

    @property
    def machine(self) -> dict[str, str]:
        """The result of `describe` when the records were made."""
        found: dict[str, str] = json.loads((self.out / MACHINE).read_text())
        return found

    def run(self, work: Callable[[], int], publish: Callable[[Path, Path], list[Record]]) -> int:
        """Measure unless told not to, then write the pages, also after an interruption.

        `work` returns how many measurements it left out; `publish` writes a page and the files
        beside it and returns the records it shows.
        """
        try:
            if not self.options.no_run:
                run = "quick" if self.options.quick else "full"
                described = {"run": run} | machine.describe(self.threads)
                self.out.mkdir(parents=True, exist_ok=True)
                (self.out / MACHINE).write_text(json.dumps(described, indent=1))
                left_out = work()
                if left_out:
                    self.say(f"Time is up: {left_out} measurements were left out.")
        except KeyboardInterrupt:
            self.say("Interrupted; the same command continues from here.")
            self._publish(publish)
            raise
        self._publish(publish)
        return 0

    def _publish(self, publish: Callable[[Path, Path], list[Record]]) -> None:
        pages = [(self.out / PAGE, self.out)]
        if self.options.report is not None:
            pages.append((self.options.report, self.options.report.with_suffix("")))
        for page, beside in pages:
            records = publish(page, beside)
            self.say(f"The report is {page}.")
        known = {"machine": self.machine, "records": records}
        (self.out / "results.json").write_text(json.dumps(known, indent=1))
        if find_spec("matplotlib") is None:
            self.say('For figures: pip install "widestreet[plot]"')

    def leave_out(self, missing: dict[str, str | None]) -> list[str]:
        """Say what cannot be run and return the names of the rest."""
        for name, why in missing.items():
            if why:
                self.say(f"{name} is left out: {why}")
        return [name for name, why in missing.items() if not why]

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)


class Lines:
    """A watcher that prints a line for each measurement."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._begun = time.perf_counter()

    def __call__(self, one: Measurement, record: Record | None) -> None:
        if record is None:
            if self.console.is_terminal:
                self.console.print(f"... {one.title}", markup=False, soft_wrap=True, end="\r")
            return
        clock = time.strftime("%H:%M:%S", time.gmtime(time.perf_counter() - self._begun))
        line = f"{clock} {one.title}: {brief(record)}"
        self.console.print(line, markup=False, soft_wrap=True)
