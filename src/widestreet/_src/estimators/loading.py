"""Estimators from files: the state of an archive, and the changes of a journal."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from widestreet._src.estimators.model import KernelModel
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.persistence import Log
from widestreet._src.estimators.plain_state import NewerStateError, check_schema
from widestreet._src.estimators.registry import ESTIMATORS
from widestreet._src.estimators.saving import parameters_from
from widestreet._src.estimators.state_checks import check_fitted, check_rows
from widestreet._src.persistence import archive
from widestreet._src.persistence.archive import ArchiveError
from widestreet._src.persistence.journal import Journal, is_journal
from widestreet._src.persistence.tree import join

_LONGEST_REASON = 200  # characters
_STATE_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError,
                 ArithmeticError, RuntimeError, np.linalg.LinAlgError)  # fmt: skip


def load(path: str | PathLike[str], journal: str | PathLike[str] | None = None) -> Any:
    """Read an estimator from a file.

    Nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like
        File written by `save` of any estimator, or the journal of an online estimator.
    journal : str or path-like, optional
        Journal that continues an online estimator. Its records made after `save` are replayed.
        Later calls with the same `journal` continue it.

    Returns
    -------
    estimator
        The estimator, of the class that was saved.

    Raises
    ------
    ArchiveError
        If the file is not a saved model, is damaged, or is from a later version. It is a
        ValueError, and the message says what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import widestreet as ws
    >>> from widestreet.datasets import twonorm
    >>> X, y = twonorm(120, random_state=0)
    >>> folder = Path(tempfile.mkdtemp())
    >>> model = ws.SVC(gamma=0.05).fit(X, y)
    >>> model.save(folder / "model.street")
    >>> again = ws.load(folder / "model.street")
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True

    An online estimator with a journal, after a crash:

    >>> from widestreet.online import OnlineSVC
    >>> model = OnlineSVC(gamma=0.05).fit(X[:100], y[:100])
    >>> model = model.partial_fit(X[100:110], y[100:110], journal=folder / "rows.journal")
    >>> model.save(folder / "model.street")
    >>> model = model.partial_fit(X[110:], y[110:], journal=folder / "rows.journal")
    >>> del model  # or the power fails
    >>> ws.load(folder / "model.street", journal=folder / "rows.journal").n_rows_
    120
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"path={str(path)!r} is not a file")
    if not Path(path).stat().st_size:
        raise ArchiveError(
            f"{fspath(path)} is empty: copy it again from its source, or save the model again; in "
            "an empty journal no call has returned"
        )
    if is_journal(path):
        return _replayed(None, Journal(path))
    header, arrays = archive.read(path)
    machine = restored(header, arrays, fspath(path))
    if journal is None:
        if "base" in header:
            warnings.warn(
                f"{str(path)!r} was saved while a journal was written: later changes are in the "
                "journal; pass journal= to include them",
                UserWarning,
                stacklevel=2,
            )
        return machine
    if not isinstance(machine, OnlineMachine):
        raise ValueError(f"journal: {str(path)!r} holds no online estimator, which has no journal")
    if not Path(journal).exists():
        raise FileNotFoundError(f"journal={str(journal)!r} does not exist")
    if "base" in header:
        start = int(header["start"])
        return _replayed(machine, Journal(journal, header["base"], start), start)
    log = Journal(journal)
    first = next(log.records(), None)  # it may begin where the archive ends
    ids = None if first is None or first.kind != "begin" else first.arrays.get("rows.ids")
    if ids is None or not np.array_equal(np.sort(ids), machine.ids_):
        log.close()
        raise ValueError(f"journal={str(journal)!r} does not begin with the state in {str(path)!r}")
    return _replayed(None, log)


def restored(header: dict[str, Any], arrays: dict[str, Any], path: str) -> Any:
    """Return the estimator of a snapshot; a wrong one raises an ArchiveError that names `path`."""
    with _explained(path):
        check_schema(header)
        return _estimator_of(join(header, arrays))


def _estimator_of(state: dict[str, Any]) -> Any:
    """Return the estimator of a state with parameters as JSON values; a wrong one raises."""
    name = state.get("machine")
    if name not in ESTIMATORS:
        raise ValueError(f"it holds a {name!r}, which is no estimator of this version")
    kind = ESTIMATORS[name]
    given = kind(**parameters_from(state["parameters"], ESTIMATORS))
    fitted = {
        key: _estimator_of(value) if isinstance(value, dict) and "machine" in value else value
        for key, value in state["fitted"].items()
    }
    if fitted and issubclass(kind, KernelModel):
        fitted = {"trace_": {}, **fitted}
    if fitted:
        check_fitted(kind, fitted)
    whole = {"schema": state["schema"], "parameters": vars(given), "fitted": fitted}
    if "rows" in state and issubclass(kind, OnlineMachine):
        check_rows(state["rows"], fitted)
        whole["rows"] = state["rows"]
    model = object.__new__(kind)
    model.__setstate__(whole | {"other": {}})
    return model


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Replace errors in this block by one that names the file."""
    try:
        yield
    except ArchiveError:
        raise
    except NewerStateError as error:
        raise ArchiveError(f"{path} {error}") from None
    except _STATE_ERRORS as error:
        reason = str(error)[:_LONGEST_REASON]  # it may quote the file
        raise ArchiveError(
            f"{path} is damaged, or was changed after it was saved ({reason}): copy it again from "
            "its source, or save the model again"
        ) from error


def _replayed(machine: OnlineMachine | None, journal: Journal, start: int = 0) -> OnlineMachine:
    """Return an estimator after all changes in a journal, from record `start` on."""
    try:
        for record in journal.records(start):
            if record.kind != "begin":
                if machine is None:
                    raise ValueError(f"{journal.path!r} does not begin with an estimator")
                _repeat(machine, record.kind, record.header, record.arrays)
            elif machine is None:
                machine = restored(record.header, record.arrays, journal.path)
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
    machine.set_params(**parameters_from(header["parameters"], ESTIMATORS))
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
