"""The state of an estimator in plain values: what pickle, joblib, skops and files hold.

A state is a dictionary:

    schema        version of this layout
    widestreet    version of the package that made it
    parameters    parameters by name, as the user passed them
    fitted        fitted attributes by name; only arrays, numbers, strings, lists and dictionaries
    other         what scikit-learn keeps in an estimator, such as requests of metadata

Online estimators add `rows` (online/plain_state.py). The kernel is its name with its parameters,
the trace a table with one column per field, a certificate the dictionary of its fields. It
contains no class of this package, so old states can still be read after classes were moved.
"""

from __future__ import annotations

from collections.abc import Callable as Function
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from widestreet._src.certificate import Certificate, GapEstimate, worst
from widestreet._src.engines.solution import Trace, TraceRecord
from widestreet._src.estimators import parameter_checks
from widestreet._src.estimators.compaction import Compaction
from widestreet._src.estimators.stages import Stages
from widestreet._src.kernels.kernels import Callable, Kernel
from widestreet._src.status import Status

SCHEMA = 1

_PRIVATE = ("_kernel", "_centre", "_scale", "_rho", "_stages")  # fitted attributes
_DERIVED = ("_gamma", "certificate_")  # from the kernel and from the certificates


def state_of(model: Any) -> dict[str, Any]:
    """Return the state of an estimator in plain values."""
    import widestreet

    state: dict[str, Any] = {"schema": SCHEMA, "widestreet": widestreet.__version__}
    parameters, fitted, other = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for name, value in vars(model).items():
        if is_fitted(name):
            fitted[name] = _PLAIN[name][0](value) if name in _PLAIN else value
        elif not name.startswith("_"):
            parameters[name] = value
        elif name not in _DERIVED:
            other[name] = value
    fitted.pop("certificate_", None)
    return state | {"parameters": parameters, "fitted": fitted, "other": other}


def attributes_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of an estimator from its state; raise for a later version."""
    check_schema(state)
    fitted = dict(state["fitted"])
    for name in _PLAIN.keys() & fitted.keys():
        fitted[name] = _PLAIN[name][1](fitted[name])
    if "_kernel" in fitted:
        fitted["_gamma"] = getattr(fitted["_kernel"], "gamma", 0.0)
    if fitted.get("certificates_"):
        fitted["certificate_"] = worst(fitted["certificates_"])
    if "shape_fit_" in fitted:
        fitted["shape_fit_"] = tuple(fitted["shape_fit_"])
    return {**state["parameters"], **fitted, **state["other"]}


def is_fitted(name: str) -> bool:
    """Return whether an attribute of this name is set by a fit."""
    return name in _PRIVATE or (name.endswith("_") and not name.startswith("_"))


def check_schema(state: Mapping[str, Any]) -> None:
    """Raise ValueError if a state is of a later schema, or is no state."""
    schema = state.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ValueError(f"a state of schema {schema!r}, which no version has written")
    if schema > SCHEMA:
        raise NewerStateError(
            f"was written with schema {schema} by widestreet {state.get('widestreet')}, but this "
            f"version reads schemas up to {SCHEMA}: install widestreet>={state.get('widestreet')}"
        )


class NewerStateError(ValueError):
    """Error for a state of a later version; the message names the version to install."""


# -- objects as plain values -----------------------------------------------------------------------


def plain_kernel(kernel: Kernel) -> dict[str, Any]:
    """Return the name and the parameters of a kernel."""
    return {"name": kernel.name} | {f.name: getattr(kernel, f.name) for f in fields(kernel)}


def kernel_from(plain: Mapping[str, Any]) -> Kernel:
    """Return the kernel with this name and these parameters."""
    if plain["name"] == Callable.name:
        return Callable(plain["function"])
    given = {"gamma": 0.0, "coef0": 0.0, "degree": 3} | dict(plain)
    gamma = parameter_checks.resolve_gamma(float(given["gamma"]), 0, lambda: 0.0)
    return parameter_checks.resolve_kernel(
        str(given["name"]), gamma=gamma, coef0=given["coef0"], degree=given["degree"]
    )


def _plain_trace(trace: Trace) -> dict[str, Any]:
    """Return the records as a table: an array for numbers, a list for dictionaries."""
    columns: dict[str, Any] = {}
    for one in fields(TraceRecord):
        column = [getattr(record, one.name) for record in trace]
        kinds = {"int": np.int64, "float": np.float64}
        kind = kinds.get(str(one.type))
        columns[one.name] = column if kind is None else np.array(column, dtype=kind)
    return columns


def _trace_from(plain: Mapping[str, Any]) -> Trace:
    columns = {
        name: column.tolist() if isinstance(column, np.ndarray) else column
        for name, column in plain.items()
    }
    records = zip(*columns.values(), strict=True)
    return Trace(TraceRecord(**dict(zip(columns, record, strict=True))) for record in records)


def plain_certificates(certificates: list[Certificate]) -> list[dict[str, Any]]:
    """Return the figures of certificates by name."""
    return [asdict(one) | {"status": str(one.status)} for one in certificates]


def certificates_from(plain: list[dict[str, Any]]) -> list[Certificate]:
    """Return the certificates with these figures."""
    return [Certificate(**one | _objects(one)) for one in plain]


def _objects(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of a certificate that are no plain values."""
    found: dict[str, Any] = {"status": Status(plain["status"])}
    if plain.get("estimate") is not None:
        estimate = plain["estimate"]
        interval = tuple(float(end) for end in estimate["interval"])
        found["estimate"] = GapEstimate(**estimate | {"interval": interval})
    return found


def _plain_stages(stages: Stages | None) -> dict[str, Any] | None:
    return None if stages is None else dict(vars(stages))


def _stages_from(plain: dict[str, Any] | None) -> Stages | None:
    return None if plain is None else Stages(**plain)


_PLAIN: dict[str, tuple[Function[..., Any], Function[..., Any]]] = {
    "_kernel": (plain_kernel, kernel_from),
    "trace_": (_plain_trace, _trace_from),
    "certificates_": (plain_certificates, certificates_from),
    "_stages": (_plain_stages, _stages_from),
    "compaction_": (asdict, lambda plain: Compaction(**plain)),
}
