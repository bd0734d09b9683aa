"""Archives and journals of online estimators.

An archive holds the parameters, the rows and the coefficients. A journal holds one record for every
call that changed the rows. Its first record is a snapshot of the estimator, so that a journal can
be read without an archive, and an archive without a journal.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from widestreet._src.persistence import archive
from widestreet._src.persistence.journal import Journal
from widestreet._src.stacklevel import level_of_caller

SCHEMA = 1


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
        header, arrays = snapshot(machine)  # raises if it cannot be written
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
        header = {"parameters": parameters_of(machine), "arrived": arrived}
        self.journal.append(kind, header, arrays)


def parameters_of(machine: Any) -> dict[str, Any]:
    """Return the parameters of an estimator as JSON values."""
    found = dict(machine.get_params(deep=False))
    for name, value in found.items():
        if name == "class_weight" and value is not None:
            found[name] = [[_plain(label), float(weight)] for label, weight in value.items()]
            continue
        value = _plain(value)
        if value is not None and not isinstance(value, bool | int | float | str):
            raise TypeError(
                f"{name}={value!r} cannot be written to a file: only text and numbers can"
            )
        found[name] = value
    return found


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def snapshot(machine: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the complete state of an estimator as a header and arrays."""
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "machine": type(machine).__name__,
        "parameters": parameters_of(machine),
    }
    arrays: dict[str, Any] = {}
    if not hasattr(machine, "_state"):
        return header, arrays
    state = machine._present()
    store = state.store
    if state.classes is not None:
        arrays["classes"] = state.classes
    header["arrived"] = store.arrived
    header["kernel"] = {"name": store.kernel.name, **asdict(store.kernel)}
    arrays |= {"X": store.X, "target": store.target, "weight": store.weight, "ids": store.ids}
    if store.centre is not None:
        arrays["centre"] = store.centre
    names = getattr(machine, "feature_names_in_", None)
    if names is not None:
        arrays["feature_names"] = np.asarray(names, dtype=str)
    header["problems"] = [None if key is None else list(key) for key in state.optima]
    for p, exact in enumerate(state.optima.values()):
        arrays[f"members_{p}"] = exact.members
        arrays[f"beta_{p}"] = exact.beta
    return header, arrays


def save(machine: Any, path: str | PathLike[str]) -> None:
    """Write an estimator to an archive that states how many journal records it contains."""
    header, arrays = snapshot(machine)
    log = machine._log
    if log is not None:
        if str(Path(path).resolve()) in (str(log.path), f"{log.path}-journal"):
            raise ValueError(f"{str(path)!r} is the journal: save to another file")
        header |= {"base": log.journal.base, "start": log.journal.sequence}
    archive.write(path, header, arrays)


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
