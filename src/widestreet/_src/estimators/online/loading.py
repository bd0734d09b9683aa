"""Online estimators from files: the state of an archive, and the changes of a journal."""

from __future__ import annotations

import warnings
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from widestreet._src.estimators import validation
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.nu_svc import OnlineNuSVC
from widestreet._src.estimators.online.nu_svr import OnlineNuSVR
from widestreet._src.estimators.online.one_class import OnlineOneClassSVM
from widestreet._src.estimators.online.persistence import SCHEMA, Log
from widestreet._src.estimators.online.row_store import RowStore
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.estimators.online.svc import OnlineSVC
from widestreet._src.estimators.online.svr import OnlineSVR
from widestreet._src.persistence import archive
from widestreet._src.persistence.journal import Journal, is_journal
from widestreet._src.threads import limited_blas, resolve_threads

_ESTIMATORS: dict[str, type[OnlineMachine]] = {
    estimator.__name__: estimator
    for estimator in (OnlineSVC, OnlineNuSVC, OnlineSVR, OnlineNuSVR, OnlineOneClassSVM)
}


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


def restore(header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """Return the estimator of a snapshot."""
    if header.get("schema") != SCHEMA:
        raise ValueError(
            f"schema {header.get('schema')!r} is not known to this version, which reads {SCHEMA}"
        )
    name = str(header.get("machine"))
    if name not in _ESTIMATORS:
        raise ValueError(f"the file holds a {name!r}, which is not an online estimator")
    machine: OnlineMachine = _ESTIMATORS[name]()
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
    wanted = machine._task.problems(state, machine._formulation())
    with limited_blas(1):
        for key, members, beta in optima:
            state.optima[key] = machine._solve(state, wanted[key][0], members, beta)
    machine.__dict__ = machine._published(state)
    return machine


def _set_parameters(machine: OnlineMachine, parameters: dict[str, Any]) -> None:
    given = parameters.get("class_weight")
    if given is not None:
        parameters = parameters | {"class_weight": dict(given)}
    machine.set_params(**parameters)


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
            machine._add(arrays["X"], y, arrays["weight"], classes=arrays.get("classes"))
        if "feature_names" in arrays:
            names = arrays["feature_names"].astype(object)
            machine._state.seen["feature_names_in_"] = machine.feature_names_in_ = names
    elif kind == "forget":
        machine.forget(arrays["ids"])
    elif kind == "weight":
        machine.change_weight(arrays["ids"], arrays["weight"])
    else:
        raise ValueError(f"the journal has a record of the unknown kind {kind!r}")
