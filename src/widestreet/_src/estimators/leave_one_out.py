"""Exact leave-one-out predictions of any estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from widestreet._src.arrays import Floats
from widestreet._src.checks import shown
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators.model import KernelModel
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.one_class import OneClassSVM
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.online.nu_svc import OnlineNuSVC
from widestreet._src.estimators.online.nu_svr import OnlineNuSVR
from widestreet._src.estimators.online.one_class import OnlineOneClassSVM
from widestreet._src.estimators.online.svc import OnlineSVC
from widestreet._src.estimators.online.svr import OnlineSVR
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR
from widestreet._src.files.table import StoredRows

_ONLINE: dict[type, Any] = {
    SVC: OnlineSVC,
    NuSVC: OnlineNuSVC,
    SVR: OnlineSVR,
    NuSVR: OnlineNuSVR,
    OneClassSVM: OnlineOneClassSVM,
}


def leave_one_out(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Floats:
    """Predict each row with an estimator trained on all other rows.

    The predictions are exact. Each row that affects the model takes a few steps of a homotopy
    instead of a refit.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR, OneClassSVM or an online estimator
        Estimator whose parameters are used; it is not changed and need not be fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default=None
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_classes) or (n_samples, n_pairs)
        Decision values of classifiers and one-class SVMs, predictions of regressors.

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import checkerboard
    >>> X, y = checkerboard(200, random_state=0)
    >>> values = ws.leave_one_out(ws.SVC(C=10, gamma=2.0), X, y)
    >>> print(f"{(values * y > 0).mean():.2f}")
    0.91
    """
    machine = online_twin(estimator)
    if isinstance(X, StoredRows):
        raise TypeError(
            "X was opened by open_rows, but leave_one_out needs all rows in memory: pass "
            "X.to_numpy() and y.to_numpy()"
        )
    given = () if isinstance(machine, OnlineOneClassSVM) else (y,)
    values: Floats = machine.fit(X, *given, sample_weight=sample_weight).leave_one_out()
    return values


def online_twin(estimator: Any) -> Any:
    """Return an online estimator with the parameters of an estimator."""
    kind = type(estimator)
    if isinstance(estimator, OnlineMachine):
        return kind(**estimator.get_params() | {"max_rows": None})
    if kind not in _ONLINE:
        names = ", ".join(known.__name__ for known in _ONLINE)
        raise TypeError(
            f"estimator must be one of {names} or an online estimator, got {shown(estimator)}"
        )
    if getattr(estimator._formulation(), "loss", "linear") != "linear":
        raise ValueError(
            f"leave_one_out does not support loss={estimator.loss!r}: use loss="
            f"{estimator.loss.removeprefix('squared_')!r}, or sklearn.model_selection."
            "cross_val_predict with cv=LeaveOneOut()"
        )
    known = set(_ONLINE[kind]._get_param_names()) - {"tol"}
    mine = {name: value for name, value in estimator.get_params().items() if name in known}
    return _ONLINE[kind](**mine)


def frozen(model: KernelModel) -> dict[str, Any]:
    """Return parameters of a fitted model that depend on its rows, as numbers.

    These are gamma="scale" and class_weight="balanced". Models without some of the rows that have
    them differ by these rows only.
    """
    found: dict[str, Any] = {}
    if isinstance(model.gamma, str) and model._gamma:
        found["gamma"] = model._gamma
    if isinstance(getattr(model, "class_weight", None), str):
        classes, weights = model.classes_.tolist(), model.class_weight_.tolist()
        found["class_weight"] = dict(zip(classes, weights, strict=True))
    return found


def frozen_twin(model: KernelModel, budget: Budget) -> Any:
    """Return an online estimator with the `frozen` parameters of a fitted model.

    Its fit raises OutOfBudget when the budget is used up before the batch engine has found the
    optimum.
    """
    twin = online_twin(model).set_params(**frozen(model))
    twin._budget = budget
    return twin


def regressors_without(
    twin: OnlineMachine, look: Callable[[], None]
) -> Iterator[tuple[int, float, Floats]]:
    """Yield each row that affects a fitted regressor, with the regressor trained without it.

    Parameters
    ----------
    twin : OnlineSVR or OnlineNuSVR
        Its rows are those of one `fit`.
    look : callable
        Called before each removal; may raise an error.

    Yields
    ------
    row : int
    prediction : float
        Prediction of the row.
    change : ndarray
        Coefficient of each row, less its coefficient in the model of all rows.
    """
    state, formulation = twin._present(), twin._formulation()
    for optimum in state.optima.values():
        every = optimum.coef
        for row, found in optimum.each_without(look):
            if found is None:
                raise ValueError("X: no row is left without the only one: pass at least two rows")
            reading = formulation.read(found.bias, twin.tol)
            yield row, found.score + reading.intercept, found.coef - every
