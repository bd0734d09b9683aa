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
from typing import TYPE_CHECKING, Any

import numpy as np

from widestreet._src.estimators import validation
from widestreet._src.estimators.online.row_store import RowStore
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.persistence import archive
from widestreet._src.persistence.journal import Journal, is_journal
from widestreet._src.threads import resolve_threads

if TYPE_CHECKING:
    from widestreet._src.estimators.online.machine import OnlineMachine

_SCHEMA = 1


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
    def begin(cls, path: Path, machine: OnlineMachine) -> Log:
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


def _set_parameters(machine: OnlineMachine, parameters: dict[str, Any]) -> None:
    given = parameters.get("class_weight")
    if given is not None:
        parameters = parameters | {"class_weight": dict(given)}
    machine.set_params(**parameters)


def snapshot(machine: OnlineMachine) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the complete state of an estimator as a header and arrays."""
    header: dict[str, Any] = {
        "schema": _SCHEMA,
        "machine": type(machine).__name__,
        "parameters": parameters_of(machine),
    }
    arrays: dict[str, Any] = {}
    if not hasattr(machine, "_state"):
        return header, arrays
    state = machine._state
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


def restore(header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """Return the estimator of a snapshot."""
    from widestreet._src.estimators.online import machines

    if header.get("schema") != _SCHEMA:
        raise ValueError(
            f"schema {header.get('schema')!r} is not known to this version, which reads {_SCHEMA}"
        )
    name = str(header.get("machine"))
    if name not in machines.NAMES:
        raise ValueError(f"the file holds a {name!r}, which is not an online estimator")
    machine: OnlineMachine = machines.NAMES[name]()
    _set_parameters(machine, header["parameters"])
    if "X" not in arrays:
        return machine
    X = arrays["X"]
    said = {"gamma": 0.0, "coef0": 0.0, "degree": 3} | header["kernel"]
    name = said.pop("name")
    kernel = validation.resolve_kernel(
        name, **{key: said[key] for key in ("gamma", "coef0", "degree")}
    )
    store = RowStore(kernel, X, arrays.get("centre"), resolve_threads(machine.n_jobs))
    store.add(X, arrays["target"], arrays["weight"])
    store.ids[:], store.arrived = arrays["ids"], int(header["arrived"])
    seen: dict[str, Any] = {"n_features_in_": X.shape[1]}
    if "feature_names" in arrays:
        seen["feature_names_in_"] = arrays["feature_names"].astype(object)
    state = OnlineState(store, seen, arrays.get("classes"))
    optima = [
        (None if key is None else tuple(key), arrays[f"members_{p}"], arrays[f"beta_{p}"])
        for p, key in enumerate(header["problems"])
    ]
    machine._resume(state, optima)
    return machine


def save(machine: OnlineMachine, path: str | PathLike[str]) -> None:
    """Write an estimator to an archive that states how many journal records it contains."""
    header, arrays = snapshot(machine)
    log = machine._log
    if log is not None:
        if str(Path(path).resolve()) in (str(log.path), f"{log.path}-journal"):
            raise ValueError(f"{str(path)!r} is the journal: save to another file")
        header |= {"base": log.journal.base, "start": log.journal.sequence}
    archive.write(path, header, arrays)


def load(path: str | PathLike[str], journal: str | PathLike[str] | None = None) -> Any:
    """Read an online estimator from a file.

    Parameters
    ----------
    path : str or path-like
        Archive written by `save`, or a journal.
    journal : str or path-like, optional
        Journal that continues the archive. Its records made after `save` are replayed. Later calls
        with the same `journal` continue it.

    Returns
    -------
    estimator
        The estimator, of the class that was saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from widestreet.datasets import twonorm
    >>> from widestreet.online import OnlineSVC, load
    >>> X, y = twonorm(120, random_state=0)
    >>> folder = Path(tempfile.mkdtemp())
    >>> model = OnlineSVC(gamma=0.05).fit(X[:100], y[:100])
    >>> model = model.partial_fit(X[100:110], y[100:110], journal=folder / "rows.journal")
    >>> model.save(folder / "model.street")
    >>> model = model.partial_fit(X[110:], y[110:], journal=folder / "rows.journal")
    >>> del model  # or the power fails
    >>> load(folder / "model.street", journal=folder / "rows.journal").n_rows_
    120
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"path={str(path)!r} is not a file")
    if is_journal(path):
        return _replayed(None, Journal(path))
    header, arrays = archive.read(path)
    machine = restore(header, arrays)
    if journal is None:
        if "base" in header:
            warnings.warn(
                f"{str(path)!r} was saved while a journal was written: later changes are in the "
                "journal; pass journal= to include them",
                UserWarning,
                stacklevel=2,
            )
        return machine
    if not Path(journal).exists():
        raise FileNotFoundError(f"journal={str(journal)!r} does not exist")
    if "base" in header:
        start = int(header["start"])
        return _replayed(machine, Journal(journal, header["base"], start), start)
    log = Journal(journal)
    first = next(log.records(), None)  # it may begin where the archive ends
    ids = None if first is None or first.kind != "begin" else first.arrays.get("ids")
    if ids is None or not np.array_equal(np.sort(ids), machine.ids_):
        log.close()
        raise ValueError(f"journal={str(journal)!r} does not begin with the state in {str(path)!r}")
    return _replayed(None, log)


def _replayed(machine: OnlineMachine | None, journal: Journal, start: int = 0) -> OnlineMachine:
    """Return an estimator after all changes in a journal, from record `start` on."""
    try:
        for record in journal.records(start):
            if record.kind != "begin":
                if machine is None:
                    raise ValueError(f"{journal.path!r} does not begin with an estimator")
                _repeat(machine, record.kind, record.header, record.arrays)
            elif machine is None:
                machine = restore(record.header, record.arrays)
        if machine is None:
            raise ValueError(
                f"{journal.path!r} holds no estimator: no call that wrote to it has returned"
            )
    except BaseException:
        journal.close()
        raise
    machine._log = Log(Path(journal.path), journal)
    return machine


def _repeat(machine: Any, kind: str, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Repeat the change of a record."""
    _set_parameters(machine, header["parameters"])
    arrived = machine._state.store.arrived if hasattr(machine, "_state") else 0
    if arrived != header["arrived"]:
        raise ValueError(
            f"the journal continues after {header['arrived']} rows, but {arrived} were added"
        )
    if kind == "add":
        y = arrays.get("y", "no_validation")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            machine._partial_fit(arrays["X"], y, arrays["weight"], classes=arrays.get("classes"))
        if "feature_names" in arrays:
            names = arrays["feature_names"].astype(object)
            machine._state.seen["feature_names_in_"] = machine.feature_names_in_ = names
    elif kind == "forget":
        machine.forget(arrays["ids"])
    elif kind == "weight":
        machine.change_weight(arrays["ids"], arrays["weight"])
    else:
        raise ValueError(f"the journal has a record of the unknown kind {kind!r}")
