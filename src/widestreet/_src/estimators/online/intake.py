"""Checks of new rows and of the kernel of an online estimator."""

from __future__ import annotations

import reprlib
import warnings
from dataclasses import fields
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from widestreet._src import checks
from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import Budget, parse_memory
from widestreet._src.engines.selection.auto_doubling import Auto
from widestreet._src.estimators import data_checks, figures, parameter_checks
from widestreet._src.estimators.columns import spread_of, warn_of_scales
from widestreet._src.estimators.model import KernelModel
from widestreet._src.estimators.online.row_store import RowStore
from widestreet._src.kernels.kernels import Kernel, Linear
from widestreet._src.problems.goal import Goal
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.threads import resolve_threads
from widestreet._src.training.settings import Settings

_ENOUGH_ROWS = 10  # rows from which on their variance and their scales are meaningful


def check_rows(model: KernelModel, X: Any, names: Any, store: RowStore | None) -> Any:
    """Return validated rows in the format of the stored rows.

    Parameters
    ----------
    model : KernelModel
    X : ndarray or CSR
    names : ndarray or None
        Names of the columns.
    store : RowStore or None
        The stored rows.
    """
    if callable(model.kernel):
        return _stored_alike(X, store)
    data_checks.check_magnitude(figures.largest_value(X))
    if store is not None:
        data_checks.check_powers(store.kernel, X)
    X = _stored_alike(X, store)
    before = 0 if store is None else store.arrived
    if before < _ENOUGH_ROWS <= before + X.shape[0]:  # once, when there are enough rows
        stack = sparse.vstack if sparse.issparse(X) else np.vstack
        every = X if store is None else stack([store.X, X])
        warn_of_scales(spread_of(every), names, stacklevel=level_of_caller())
    return X


def _stored_alike(X: Any, store: RowStore | None) -> Any:
    """Return rows in the format of the stored rows, dense or sparse."""
    if store is None or sparse.issparse(X) == sparse.issparse(store.X):
        return X
    return X.toarray() if sparse.issparse(X) else sparse.csr_matrix(X)


def new_store(model: KernelModel, X: Any, weight: Floats, *, centred: bool) -> RowStore:
    """Return an empty store whose kernel parameters are computed from the first rows.

    Parameters
    ----------
    model : KernelModel
    X : ndarray or CSR
        The first rows.
    weight : ndarray
    centred : bool
        True if rows may be centred for a linear kernel.
    """
    uses_gamma = parameter_checks.uses_gamma(model.kernel)
    gamma = 0.0
    if uses_gamma:
        gamma = parameter_checks.resolve_gamma(
            model.gamma, int(X.shape[1]), lambda: figures.weighted_variance(X, weight)
        )
    if uses_gamma and model.gamma == "scale" and X.shape[0] < _ENOUGH_ROWS:
        warnings.warn(
            f"gamma='scale' is computed from the first {X.shape[0]} rows and kept: pass a "
            "number, or more rows in the first call",
            UserWarning,
            stacklevel=level_of_caller(),
        )
    kernel = parameter_checks.resolve_kernel(
        model.kernel, gamma=gamma, coef0=model.coef0, degree=model.degree
    )
    data_checks.check_powers(kernel, X)
    if not kernel.positive and not callable(model.kernel):
        raise ValueError(
            f"kernel={model.kernel!r} is not positive semidefinite in general, so the homotopy is "
            "not defined: use 'rbf', 'linear', 'poly' with coef0 >= 0 or 'laplacian'"
        )
    centre = None
    centred = kernel.translation_invariant or (isinstance(kernel, Linear) and centred)
    if centred and not sparse.issparse(X):
        centre = np.asarray(X.mean(axis=0, dtype=np.float64))
    return RowStore(kernel, X, centre, resolve_threads(model.n_jobs))


def check_same_kernel(model: KernelModel, begun: Kernel) -> None:
    """Raise ValueError if the kernel is not that of the stored rows."""
    gamma: Any = getattr(begun, "gamma", 0.0) if isinstance(model.gamma, str) else model.gamma
    now = parameter_checks.resolve_kernel(
        model.kernel, gamma=gamma, coef0=model.coef0, degree=model.degree
    )
    if now == begun:
        return
    back = {field.name: getattr(begun, field.name) for field in fields(begun)}
    if type(now) is not type(begun):
        back = {"kernel": begun.name} | back
    else:
        back = {name: value for name, value in back.items() if value != getattr(now, name)}
    if "function" in back:
        back["kernel"] = back.pop("function")
    cure = " and ".join(f"{name} back to {value!r}" for name, value in back.items())
    raise ValueError(
        f"the kernel of the stored rows is {begun}, but set_params changed it to {now}: set "
        f"{cure}, or call fit to train with another kernel"
    )


def positions(ids: Any, store: RowStore) -> Ints:
    """Return the positions of rows, in the order in which they are named."""
    given = np.atleast_1d(np.asarray(ids))
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        got = "a mask: convert it with numpy.flatnonzero"
        got = got if given.dtype.kind == "b" else reprlib.repr(ids)
        raise ValueError(f"ids must be an integer or a list of integers, got {got}")
    return store.find(given.astype(np.int64))


class BatchParameters(Protocol):
    """Parameters of an online estimator that the batch engine uses."""

    tol: float
    max_memory: int | float | str | None
    n_jobs: int | None
    random_state: Any
    _budget: Budget | None


def batch_settings(model: BatchParameters) -> Settings:
    """Return the settings of the batch engine, which finds the first optimum."""
    return Settings(
        strategy=Auto(),
        goal=Goal(checks.require_real("tol", model.tol, above=0.0)),
        max_steps=-1,
        max_time=None if model._budget is None else model._budget.part().max_time,
        max_memory=parse_memory(model.max_memory),
        threads=resolve_threads(model.n_jobs),
        verbose=0,
        skip=True,
        rng=parameter_checks.resolve_rng(model.random_state),
    )
