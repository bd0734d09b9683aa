"""Archives and journals of online estimators.

An archive holds the parameters, the rows and the coefficients. A journal holds one record for every
call that changed the rows. Its first record is a snapshot of the estimator, so that a journal can
be read without an archive, and an archive without a journal.
"""

from __future__ import annotations

import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from widestreet._src.estimators import saving
from widestreet._src.persistence.journal import Journal
from widestreet._src.stacklevel import level_of_caller


class Log:
    """The open journal of an online estimator.

    Parameters
    ----------
    path : Path
    journal : Journal
    """

    def __init__(self, path: Path, journal: Journal) -> None:
        self.path, self.journal = path, journal

    @classmethod
    def begin(cls, path: Path, machine: Any) -> Log:
        """Begin a journal with a snapshot of an estimator."""
        header, arrays = saving.snapshot(machine)  # raises if it cannot be written
        journal = Journal(path, create=True)
        try:
            if journal.sequence > 0:
                raise FileExistsError(
                    f"journal={str(path)!r} exists and belongs to another history: continue it "
                    "with widestreet.online.load(...), or give another name"
                )
            journal.append("begin", header, arrays)
        except BaseException:
            journal.close()  # a later call can try again
            raise
        return cls(path, journal)

    def __del__(self) -> None:
        self.journal.close()

    def write(self, kind: str, machine: Any, arrays: dict[str, Any], arrived: int) -> None:
        """Append a record; it is durable when this returns.

        `arrived` is the number of rows ever added before this call; a reader checks it.
        """
        header = {"parameters": saving.parameters_of(machine), "arrived": arrived}
        self.journal.append(kind, header, arrays)


def save(machine: Any, path: str | PathLike[str], *, trace: bool) -> None:
    """Write an estimator to an archive that states how many journal records it contains."""
    log, more = machine._log, dict[str, Any]()
    if log is not None:
        if str(Path(path).resolve()) in (str(log.path), f"{log.path}-journal"):
            raise ValueError(f"{str(path)!r} is the journal: save to another file")
        more = {"base": log.journal.base, "start": log.journal.sequence}
    saving.save(machine, path, more, trace=trace)


def open_journal(machine: Any, journal: Any) -> None:
    """Continue a journal, begin one, or end the one that is open. Sets: the log of the machine.

    Parameters
    ----------
    machine : OnlineMachine
    journal : str, path-like or None
        None ends the journal that is open, with a warning.
    """
    if journal is None:
        if machine._log is not None:
            warnings.warn(
                f"this call is not written to the journal {str(machine._log.path)!r}, which ends "
                "here; pass journal= to every call that must survive a crash",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        machine.end_journal()
    elif machine._log is None or machine._log.path != Path(journal).resolve():
        machine._log = Log.begin(Path(journal).resolve(), machine)
