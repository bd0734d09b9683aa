"""Estimators as archives: parameters as JSON, arrays as .npy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from widestreet._src.checks import shown
from widestreet._src.estimators import parameter_checks
from widestreet._src.estimators.plain_state import is_fitted
from widestreet._src.estimators.scoring import check_shapes, dense_coef
from widestreet._src.persistence import archive
from widestreet._src.persistence.tree import split

_HOMES = ("widestreet", "widestreet.online")
_STRATEGY, _PAIRS, _RANDOM = "$strategy", "$pairs", "$random_state"
_ESTIMATOR, _LIST = "$estimator", "$list"


def save(model: Any, path: Any, more: Mapping[str, Any], *, trace: bool) -> None:
    """Write an estimator to an archive.

    Parameters
    ----------
    model : KernelModel
    path : str or path-like
    more : mapping
        Further entries of the header.
    trace : bool
        Whether `trace_` is written.
    """
    header, arrays = snapshot(model, trace=trace)
    archive.write(path, {**header, **more}, arrays)


def snapshot(model: Any, *, trace: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the state of an estimator as a header and arrays, which an archive can hold."""
    return split(_state_for_files(model, trace=trace))


def _state_for_files(model: Any, *, trace: bool) -> dict[str, Any]:
    """Return the class and the state of an estimator, with parameters as JSON values."""
    kind = type(model)
    if kind.__module__ not in _HOMES:
        raise TypeError(
            f"{kind.__module__}.{kind.__qualname__} is not an estimator of widestreet, and a file "
            "cannot hold other classes: use pickle, joblib or skops"
        )
    _check_values(model)
    state = model.__getstate__()
    del state["other"]
    state["parameters"] = parameters_of(model)
    named = {name for name in vars(model) if not name.startswith("_") and not is_fitted(name)}
    unknown = named - set(state["parameters"])
    if unknown:
        raise TypeError(
            f"{', '.join(sorted(unknown))}: these attributes are not those of {kind.__name__} and "
            "cannot be written to a file: delete them first"
        )
    if "rows" in state:
        del state["rows"]["counts"]  # rows of a file were not added by INSVR
    if not trace:
        state["fitted"].pop("trace_", None)
    for name, value in state["fitted"].items():
        if isinstance(value, BaseEstimator):
            state["fitted"][name] = _state_for_files(value, trace=trace)
    return {"machine": kind.__name__, **state}


def _check_values(model: Any) -> None:
    """Raise ValueError for a model that could not be read back."""
    if "dual_coef_" not in vars(model):  # an online estimator without rows
        return
    check_shapes("model", model)
    for name in ("dual_coef_", "intercept_", "support_vectors_"):
        if not np.isfinite(dense_coef(getattr(model, name))).all():
            raise ValueError(f"model: {name} has values that are not finite; fit it again")


# -- parameters ------------------------------------------------------------------------------------


def parameters_of(model: Any) -> dict[str, Any]:
    """Return the parameters of an estimator as JSON values."""
    return {name: _json(name, value) for name, value in model.get_params(deep=False).items()}


def parameters_from(parameters: Mapping[str, Any], kinds: Mapping[str, type]) -> dict[str, Any]:
    """Return the parameters that `parameters_of` wrote; `kinds` are the estimators by name."""
    return {name: _value(value, kinds) for name, value in parameters.items()}


def _json(name: str, value: Any) -> Any:
    """Return the value of a parameter as JSON, or raise TypeError."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, os.PathLike) and isinstance(os.fspath(value), str):
        return os.fspath(value)
    if isinstance(value, Mapping):  # class weights
        pairs = [[_json(name, key), _json(name, weight)] for key, weight in value.items()]
        return {_PAIRS: sorted(pairs, key=lambda pair: str(pair[0]))}
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "fiu":
        value = value.tolist()
    if isinstance(value, list | tuple) and all(isinstance(one, int | float) for one in value):
        return {_LIST: list(value)}  # values of a parameter to search
    if isinstance(value, np.random.RandomState):
        kind, keys, *rest = value.get_state()
        return {_RANDOM: [str(kind), [int(key) for key in keys], *rest]}
    if type(value) in parameter_checks.STRATEGIES.values():
        given = {f.name: _json(name, getattr(value, f.name)) for f in fields(value) if f.init}
        return {_STRATEGY: type(value).__name__, "parameters": given}
    if isinstance(value, BaseEstimator) and type(value).__module__ in _HOMES:
        return {_ESTIMATOR: type(value).__name__, "parameters": parameters_of(value)}
    reason = "only text and numbers can"
    if callable(value):
        reason = "files hold no code: use pickle, or a kernel with a name"
    raise TypeError(f"{name}={shown(value)} cannot be written to a file: {reason}")


def _value(plain: Any, kinds: Mapping[str, type]) -> Any:
    """Return the value of a parameter from JSON."""
    match plain:
        case {"$pairs": list(pairs)}:
            return {key: _value(weight, kinds) for key, weight in pairs}
        case {"$list": list(values)} if all(isinstance(one, int | float) for one in values):
            return values
        case {"$random_state": [str(kind), list(keys), *rest]}:
            state = np.random.RandomState()
            state.set_state((kind, np.array(keys, dtype=np.uint32), *rest))
            return state
        case {"$strategy": str(name), "parameters": dict(given)}:
            strategies = {kind.__name__: kind for kind in parameter_checks.STRATEGIES.values()}
            return strategies[name](**parameters_from(given, kinds))
        case {"$estimator": str(name), "parameters": dict(given)}:
            return kinds[name](**parameters_from(given, kinds))
        case dict() | list():
            raise ValueError(f"a parameter with the unknown value {plain!r}")
    return plain
