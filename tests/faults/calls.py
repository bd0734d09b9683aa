"""Calls that faults strike: fits, changes of online machines, paths; and what may be left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import widestreet as ws
from faults.judge import judge
from widestreet.datasets import friedman, twonorm
from widestreet.online import OnlineNuSVC, OnlineNuSVR, OnlineOneClassSVM, OnlineSVC, OnlineSVR


class Failure(AssertionError):  # noqa: N818 - it is no error of the package
    """What a fault must not leave."""


@cache
def rows(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels or targets, noisy enough for rounds to be needed."""
    if kind == "values":
        return friedman(n, random_state=n)
    X, y = twonorm(n, random_state=n, d=4)
    if kind == "classes":
        y = (y > 0) + 2 * (X[:, 0] > 0)
    return X, y


@dataclass(frozen=True)
class Call:
    """A call that is interrupted, and what to make of the object after it.

    `begin` makes the object, `call` is interrupted, `after` judges what is left.
    """

    begin: Callable[[], Any]
    call: Callable[[Any], Any]
    after: Callable[[Any, Any], str]


def fitting(make: Callable[..., Any], kind: str, n: int, refit: bool = False) -> Call:
    """A fit of a batch estimator; with `refit` of one that has a model of fewer rows."""
    X, y = rows(kind, n)
    X = sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X)) if make is sparse_svc else X
    given = (X,) if kind == "nothing" else (X, y)
    few = tuple(array[: n // 4] for array in given)

    def begin() -> Any:
        model = make(on_interrupt="raise")
        return model.fit(*few) if refit else model

    def after(model: Any, error: BaseException | None) -> str:
        try:
            check_is_fitted(model)
        except NotFittedError:
            if error is None:
                raise Failure("fit returned and there is no model") from None
            return "unfitted"
        old = model.shape_fit_[0] != n
        here = X[: model.shape_fit_[0]]
        judge(model, here, y[: model.shape_fit_[0]])
        status = model.certificate_.status
        if old and (not refit or error is None):
            raise Failure("fit returned and the model is not of these rows")
        if error is None and status == "interrupted" and model.on_interrupt == "raise":
            raise Failure("the interrupt was swallowed")
        outcome = "the old model" if old else status
        model.set_params(on_interrupt="raise", max_iter=-1)
        model.fit(*few)
        if model.certificate_.status not in ("optimal", "approximate"):
            raise Failure(f"the next fit is {model.certificate_.status}")
        return outcome

    return Call(begin, lambda model: model.fit(*given), after)


def sparse_svc(**options: Any) -> Any:
    return ws.SVC(gamma=0.2, C=10.0, n_jobs=1, random_state=0, **options)


def python_kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.exp(-0.1 * ((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T))


def batch() -> Iterator[tuple[str, Call]]:
    """Fits of the five estimators, by all strategies."""
    own = {"random_state": 0, "gamma": 0.1}

    def make(kind: type, **given: Any) -> Callable[..., Any]:
        return lambda **options: kind(**own | given | options)

    yield "SVC whole", fitting(make(ws.SVC, C=10.0, n_jobs=1), "labels", 700)
    yield "SVC by rounds", fitting(make(ws.SVC, C=100.0), "labels", 2200)
    yield "SVC refit", fitting(make(ws.SVC, C=10.0, warm_start=True), "labels", 1900, refit=True)
    yield "SVC sparse", fitting(sparse_svc, "labels", 1800)
    yield "SVC function", fitting(make(ws.SVC, kernel=python_kernel), "labels", 600)
    for name in ("smo", "isvm", "randsvm", "prsvm"):
        yield f"SVC {name}", fitting(make(ws.SVC, C=10.0, strategy=name), "labels", 1700)
    yield "NuSVC", fitting(make(ws.NuSVC, nu=0.2), "labels", 1700)
    yield "SVR", fitting(make(ws.SVR, C=10.0), "values", 1700)
    yield "NuSVR", fitting(make(ws.NuSVR, C=10.0), "values", 1700)
    yield "OneClassSVM", fitting(make(ws.OneClassSVM, nu=0.2), "nothing", 1700)


def pairs() -> Iterator[tuple[str, Call]]:
    """One-vs-one: small pairs in one call, pairs side by side, pairs one after the other."""
    for name, n, jobs in (("whole", 900, 2), ("side by side", 3000, 2), ("in order", 2400, 1)):

        def make(jobs: int = jobs, **options: Any) -> Any:
            return ws.SVC(C=10.0, gamma=0.1, n_jobs=jobs, random_state=0, **options)

        yield f"one-vs-one {name}", fitting(make, "classes", n)

    def nu(**options: Any) -> Any:
        return ws.NuSVC(nu=0.1, gamma=0.1, random_state=0, **options)

    yield "one-vs-one NuSVC", fitting(nu, "classes", 900)


def ensembles() -> Iterator[tuple[str, Call]]:
    """Ensembles with the kernel matrix held, computed anew, and of low rank."""
    ways: dict[str, tuple[str, int, dict[str, Any]]] = {
        "held": ("labels", 700, {}),
        "streamed": ("labels", 500, {"max_memory": 100_000, "max_iter": 40}),
        "low rank": ("labels", 1200, {"rank": 60}),
        "of pairs": ("classes", 500, {"intercept": True}),
    }
    for name, (kind, n, given) in ways.items():

        def make(given: dict[str, Any] = given, **options: Any) -> Any:
            return ws.EnsembleSVC(gamma=0.1, random_state=0, **given, **options)

        yield f"ensemble {name}", fitting(make, kind, n)


def online() -> Iterator[tuple[str, Call]]:
    """Changes of online machines, which are there or not there afterwards."""
    machines = {
        "OnlineSVC": (OnlineSVC(C=5.0, gamma=0.1, n_jobs=1), "labels"),
        "OnlineSVC of four": (OnlineSVC(C=5.0, gamma=0.1, n_jobs=1), "classes"),
        "OnlineNuSVC": (OnlineNuSVC(nu=0.3, gamma=0.1, n_jobs=1), "labels"),
        "OnlineSVR": (OnlineSVR(C=5.0, gamma=0.1, n_jobs=1, max_rows=240), "values"),
        "OnlineNuSVR": (OnlineNuSVR(C=5.0, gamma=0.1, n_jobs=1), "values"),
        "OnlineNuSVR insvr": (
            OnlineNuSVR(C=5.0, gamma=0.1, n_jobs=1, method="insvr", scaling="schoelkopf"),
            "values",
        ),
        "OnlineOneClassSVM": (OnlineOneClassSVM(nu=0.3, gamma=0.1, n_jobs=1), "nothing"),
    }
    for name, (machine, kind) in machines.items():
        for what in ("add one", "add many", "forget", "weight", "fit", "leave one out"):
            if "insvr" in name and what in ("forget", "weight", "leave one out"):
                continue
            yield f"{name}: {what}", changing(machine, kind, what)


def changing(machine: Any, kind: str, what: str) -> Call:
    """A change of an online machine of 200 rows."""
    X, y = rows(kind, 300)

    def given(a: int, b: int) -> tuple:
        return (X[a:b],) if kind == "nothing" else (X[a:b], y[a:b])

    @cache
    def first() -> Any:
        return type(machine)(**machine.get_params()).fit(*given(0, 200))

    calls: dict[str, Callable[[Any], Any]] = {
        "add one": lambda model: model.partial_fit(*given(200, 201)),
        "add many": lambda model: model.partial_fit(*given(200, 300)),
        "forget": lambda model: model.forget([3, 50, 70, 199]),
        "weight": lambda model: model.change_weight([3, 50, 70, 199], 3.0),
        "fit": lambda model: model.fit(*given(40, 180)),
        "leave one out": lambda model: model.leave_one_out(),
    }

    @cache
    def wanted() -> tuple[list[int], np.ndarray, np.ndarray]:
        """The rows that are there after the change, and decisions before and after it."""
        model = deepcopy(first())
        before = _values(model, X)
        calls[what](model)
        return model.ids_.tolist(), before, _values(model, X)

    def after(model: Any, error: BaseException | None) -> str:
        ids, old, new = wanted()
        _verified(model)
        found = _values(model, X)
        size = max(1.0, float(np.abs(old).max()))
        unchanged, changed = (np.abs(found - to).max() < 1e-6 * size for to in (old, new))
        here = model.ids_.tolist()
        if not (changed and here == ids) and not (unchanged and here == first().ids_.tolist()):
            raise Failure(f"{len(here)} rows, and decisions of neither before nor after")
        if error is None and not changed:
            raise Failure("the call returned and has changed nothing")
        outcome = "changed" if changed and here == ids else "as before"
        if what == "leave one out":
            outcome = "as before"
        model.partial_fit(*given(290, 292))
        _verified(model)
        return outcome

    return Call(lambda: deepcopy(first()), calls[what], after)


def _values(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(getattr(model, "decision_function", model.predict)(X))


def _verified(model: Any) -> None:
    if model.verify().status != "optimal":
        raise Failure(f"verify() says {model.verify()}")


def paths() -> Iterator[tuple[str, Call]]:
    """What returns a result or nothing."""
    X, y = rows("labels", 160)
    V, v = rows("values", 120)

    def nothing(result: dict[str, Any], error: BaseException | None) -> str:
        if error is None:
            path = result["path"]
            model = path.model_at(3.0) if hasattr(path, "model_at") else None
            if model is not None:
                judge(model, X, y)
        return "no result" if error is not None else "a result"

    def keep(function: Callable[[], Any]) -> Callable[[dict[str, Any]], None]:
        def call(result: dict[str, Any]) -> None:
            result["path"] = function()

        return call

    over_c = keep(lambda: ws.regularization_path(X, y, gamma=0.1, C_min=0.1, C_max=100.0, n_jobs=1))
    left = keep(lambda: ws.leave_one_out(ws.SVR(C=5.0, gamma=0.1, n_jobs=1), V, v))
    yield "regularization_path", Call(dict, over_c, nothing)
    yield "leave_one_out", Call(dict, left, nothing)


GROUPS = {
    "batch": batch,
    "one-vs-one": pairs,
    "ensemble": ensembles,
    "online": online,
    "path": paths,
}
