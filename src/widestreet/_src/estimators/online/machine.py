"""What all online machines share: rows in and out, and the model at its optimum after each call."""

from __future__ import annotations

import reprlib
import sys
import warnings
from abc import abstractmethod
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import Certificate
from widestreet._src.engines.budget import parse_memory
from widestreet._src.engines.homotopy.parametric_optimum import InfeasibleError
from widestreet._src.engines.selection.auto import Auto
from widestreet._src.engines.solution import Trace
from widestreet._src.estimators import validation
from widestreet._src.estimators.base import KernelMachine, uncentred_intercept
from widestreet._src.estimators.columns import warn_of_scales
from widestreet._src.estimators.online.optimum import MakeDual, Optimum
from widestreet._src.estimators.online.path_optimum import Exact
from widestreet._src.estimators.online.persistence import Log, save
from widestreet._src.estimators.online.row_store import Store
from widestreet._src.interrupts import undisturbed
from widestreet._src.kernels.kernels import Kernel, Linear
from widestreet._src.threads import limited_blas, resolve_threads
from widestreet._src.training.training import Settings, worst

_FEW = 10  # rows, from which gamma="scale" is hardly what is meant


class OnlineMachine(KernelMachine):
    """Base of the online machines.

    The subclasses say which problems there are, what their duals are, and what to make of their
    solutions.
    """

    max_rows: int | None

    _store: Store
    _problems: dict[Any, Optimum]
    _proof: list[Certificate] | None
    _log: Log | None = None

    # -- what the subclasses say -----------------------------------------------------------------

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse what cannot be used."""

    @abstractmethod
    def _targets(self, X: Any, y: Any, weight: Floats, classes: Any) -> Floats:
        """Targets of rows as numbers. Sets: what is known of the targets."""

    @abstractmethod
    def _layout(self) -> dict[Any, Ints]:
        """The problems that the present rows make, each with where its rows stand."""

    @abstractmethod
    def _make(self, key: Any) -> MakeDual:
        """What makes the dual of a problem."""

    @abstractmethod
    def _publish(self) -> None:
        """Make the solutions the model. Sets: all that ends in an underscore."""

    @abstractmethod
    def _left_out(self) -> Floats:
        """What the models without each row say of it, as the rows stand in the store."""

    def _settings(self) -> Settings:
        """For the batch engine, which finds the first optimum."""
        return Settings(
            strategy=Auto(),
            tol=validation.require_real("tol", self.tol, above=0.0),
            gap_tol=None,
            max_steps=-1,
            max_time=None,
            max_memory=parse_memory(self.max_memory),
            threads=resolve_threads(self.n_jobs),
            verbose=0,
            skip=True,
            rng=validation.resolve_rng(self.random_state),
        )

    # -- rows in -----------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Train on rows, and forget all others; if that fails, everything is as it was."""
        fresh = object.__new__(type(self))
        fresh.__dict__.update(self.get_params(deep=False))
        fresh._partial_fit(X, y, sample_weight)
        fresh._check_fit()
        self._open(None)
        kept = {name: value for name, value in vars(self).items() if name != "feature_names_in_"}
        self.__dict__ = kept | vars(fresh)  # at once: no interrupt comes between
        return self

    def _check_fit(self) -> None:
        """Refuse rows that `fit` cannot do with, though `partial_fit` may."""

    def _partial_fit(
        self, X: Any, y: Any, sample_weight: Any, journal: Any = None, classes: Any = None
    ) -> Self:
        """Add rows."""
        settings = self._settings()
        self._check_parameters()
        if self.max_rows is not None:
            validation.require_integer("max_rows", self.max_rows, least=1)
        first = not hasattr(self, "_store")
        self._check_kernel()
        X, y, seen = self._checked(X, y, first)
        weight = self._weights(sample_weight, X.shape[0], may_vanish=not first)
        given = {"X": X, "weight": weight} | ({} if y is None else {"y": y})
        given |= {} if classes is None else {"classes": np.asarray(classes)}
        names = seen.get("feature_names_in_")
        given |= {} if names is None else {"feature_names": np.asarray(names, dtype=str)}
        self._open(journal)
        with _Change(self) as touched:
            target = self._targets(X, y, weight, classes)
            if first:
                self._begin(X, weight, seen)
            store = self._store
            new = store.add(X, target, weight)
            gone = self._oldest(store.n - self.max_rows) if self.max_rows is not None else new[:0]
            store.weight[gone] = 0.0
            with limited_blas(1):
                self._arrange(new, settings)
            self._commit(journal, "add", given, gone, touched)
        return self

    def _commit(
        self, journal: Any, kind: str, arrays: dict[str, Any], gone: Ints, touched: _Change
    ) -> None:
        """Remove rows of no weight for good, publish, and write down what was done.

        What may fail comes before the record is written, which makes the change final.

        Sets: store, problems, and what is published.
        """
        self._close(gone, touched)
        with undisturbed():
            if journal is not None:
                assert self._log is not None
                self._log.write(kind, self, arrays, touched.arrived)
            touched.done = True

    def _open(self, journal: Any) -> None:
        """Go on with a journal, or begin one. Sets: log."""
        if journal is None:
            if self._log is not None:
                warnings.warn(
                    f"this call is not written to the journal {str(self._log.path)!r}, which ends "
                    "here; pass journal= to every call that is to survive a crash",
                    UserWarning,
                    stacklevel=level_of_caller(),
                )
                self._log.journal.close()
                self._log = None
            return
        if self._log is None or self._log.path != Path(journal).resolve():
            self._log = Log.begin(Path(journal).resolve(), self)

    def save(self, path: Any) -> None:
        """Write the machine with its rows to a file, which `widestreet.online.load` reads.

        The file is replaced at once or not at all. A journal that is being written goes on; `load`
        takes both, and does again what the journal has and the file has not.

        Parameters
        ----------
        path : str or path-like
        """
        check_is_fitted(self, "_store")
        self._present()
        save(self, path)

    def end_journal(self) -> None:
        """Close the journal, if one is being written, so that somebody else can go on with it."""
        if self._log is not None:
            self._log.journal.close()
            self._log = None

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_log"}

    def __copy__(self) -> Self:
        return deepcopy(self)

    def _checked(self, X: Any, y: Any, first: bool) -> tuple[Any, Any, dict[str, Any]]:
        """Validated rows and targets, and what is to be known of them."""
        validation.require_kernel(self.kernel)
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' has no rows to come and go; pass the rows and a kernel"
            )
        arrays, seen = self._validated(X, y, reset=first, **self._y_options())
        X, y = arrays if isinstance(arrays, tuple) else (arrays, None)
        if not callable(self.kernel):
            validation.check_magnitude(X)
            if not first:
                validation.check_powers(self._store.kernel, X)
        if not first and sparse.issparse(X) != sparse.issparse(self._store.X):
            X = X.toarray() if sparse.issparse(X) else sparse.csr_matrix(X)
        if not callable(self.kernel):
            self._check_scales(X, seen, first)
        return X, y, seen

    def _check_scales(self, X: Any, seen: dict[str, Any], first: bool) -> None:
        """Warn of columns on very different scales, once: when there are enough rows to tell."""
        before = 0 if first else self._store.arrived
        if before < _FEW <= before + X.shape[0]:
            stack = sparse.vstack if sparse.issparse(X) else np.vstack
            rows = X if first else stack([self._store.X, X])
            warn_of_scales(rows, seen.get("feature_names_in_"), stacklevel=level_of_caller())

    def _weights(self, sample_weight: Any, rows: int, *, may_vanish: bool) -> Floats:
        """Validated weights."""
        return validation.check_weight(sample_weight, rows, may_vanish=may_vanish)

    def _y_options(self) -> dict[str, Any]:
        return {}

    def _check_kernel(self) -> None:
        """Refuse another kernel than that which the rows came under."""
        if not hasattr(self, "_store"):
            return
        begun = self._store.kernel
        gamma = getattr(begun, "gamma", 0.0) if isinstance(self.gamma, str) else self.gamma
        now = validation.resolve_kernel(
            self.kernel, gamma=gamma, coef0=self.coef0, degree=self.degree
        )
        if now != begun:
            raise ValueError(
                f"the kernel of the stored rows is {begun}, and set_params has made it {now}: set "
                f"{_set_back(begun, now)}, or call fit to train with another kernel"
            )

    def _begin(self, X: Any, weight: Floats, seen: dict[str, Any]) -> None:
        """The kernel is that of the first rows, for good. Sets: store."""
        uses_gamma = self.kernel in ("rbf", "poly", "sigmoid", "laplacian")
        gamma = validation.resolve_gamma(self.gamma, X, weight) if uses_gamma else 0.0
        if uses_gamma and self.gamma == "scale" and X.shape[0] < _FEW:
            warnings.warn(
                f"gamma='scale' is computed from the first {X.shape[0]} rows and kept: pass a "
                "number, or more rows at first",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        kernel = validation.resolve_kernel(
            self.kernel, gamma=gamma, coef0=self.coef0, degree=self.degree
        )
        validation.check_powers(kernel, X)
        if not kernel.positive and not callable(self.kernel):
            raise ValueError(
                f"kernel={self.kernel!r} need not be positive semidefinite, and then there is no "
                "path to follow: use 'rbf', 'linear', 'poly' with coef0 >= 0 or 'laplacian'"
            )
        centre = None
        linear = isinstance(kernel, Linear) and self._coefficients_sum_to_zero
        if (kernel.translation_invariant or linear) and not sparse.issparse(X):
            centre = np.asarray(X.mean(axis=0, dtype=np.float64))
        threads = resolve_threads(self.n_jobs)
        self._store = Store(kernel, X, centre, threads)
        self._problems, self._proof = {}, None
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(seen)

    # -- rows out ----------------------------------------------------------------------------------

    def forget(self, ids: Any, *, journal: Any = None) -> Self:
        """Remove rows: the model becomes the one that `fit` would find on the others.

        Parameters
        ----------
        ids : int or array-like of int
            Numbers of rows, counted from 0 in order of arrival; `ids_` has those that are there.
        journal : str or path-like, default=None
            As for `partial_fit`.

        Returns
        -------
        estimator
            The estimator itself.
        """
        gone = np.unique(self._find(ids))
        settings = self._settings()
        self._check_parameters()
        self._check_kernel()
        self._check_change(gone, 0.0)
        self._open(journal)
        with _Change(self) as touched, limited_blas(1):
            ids = self._store.ids[gone]
            self._store.weight[gone] = 0.0
            self._arrange(gone[:0], settings)
            self._commit(journal, "forget", {"ids": ids}, gone, touched)
        return self

    def change_weight(self, ids: Any, sample_weight: Any, *, journal: Any = None) -> Self:
        """Give rows another weight.

        Parameters
        ----------
        ids : int or array-like of int
            Numbers of rows, counted from 0 in order of arrival.
        sample_weight : float or array-like
            Their new weights.
        journal : str or path-like, default=None
            As for `partial_fit`.

        Returns
        -------
        estimator
            The estimator itself.
        """
        rows = self._find(ids)
        if len(np.unique(rows)) < len(rows):
            raise ValueError(f"ids: a row can have one weight only, but some come twice: {ids!r}")
        weight = self._weights(sample_weight, len(rows), may_vanish=True)
        settings = self._settings()
        self._check_parameters()
        self._check_kernel()
        self._check_change(rows, weight)
        self._open(journal)
        with _Change(self) as touched, limited_blas(1):
            self._store.weight[rows] = weight
            self._arrange(rows[:0], settings)
            changed = {"ids": self._store.ids[rows], "weight": weight}
            self._commit(journal, "weight", changed, rows[:0], touched)
        return self

    def _check_change(self, rows: Ints, weight: Floats | float) -> None:
        """Refuse other weights of rows, zero if they go, where that cannot be done."""

    def _find(self, ids: Any) -> Ints:
        """Where rows stand, in the order in which they are named."""
        check_is_fitted(self, "_store")
        given = np.atleast_1d(np.asarray(ids))
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            got = "a mask: numpy.flatnonzero makes numbers of it"
            got = got if given.dtype.kind == "b" else reprlib.repr(ids)
            raise ValueError(f"ids must be a whole number or a list of them, got {got}")
        return self._store.find(given.astype(np.int64))

    def _oldest(self, count: int) -> Ints:
        """Where the rows stand that arrived first."""
        order = np.argsort(self._store.ids, kind="stable")
        return order[: max(0, count)]

    # -- a change, whole or not at all -------------------------------------------------------------

    def _arrange(self, new: Ints, settings: Settings) -> None:
        """Bring every problem to its optimum. Sets: problems."""
        layout = self._layout()
        self._problems = {key: self._problems[key] for key in layout if key in self._problems}
        for key, members in layout.items():
            exact = self._problems.get(key)
            if exact is None:
                self._problems[key] = self._solved(key, members, settings)
                continue
            exact.make = self._make(key)
            there = np.zeros(self._store.n, dtype=bool)
            there[members] = True
            mine = new[there[new]]
            if len(mine):
                exact.add(mine)
            else:
                exact.update()
        self._proof = None

    def _solved(
        self, key: Any, members: Ints, settings: Settings, beta: Floats | None = None
    ) -> Optimum:
        """The optimum of a problem, which `beta` is if it is known."""
        return Exact(self._store, members, self._make(key), settings, beta)

    def _close(self, gone: Ints, touched: _Change) -> None:
        """Remove rows of no weight for good, and publish. Sets: store, problems."""
        if len(gone):
            touched.keep(gone)
            for exact in self._problems.values():
                exact.drop(gone)
            order = self._store.drop(gone)
            now = np.full(len(order) + len(gone), -1, dtype=np.int64)
            now[order] = np.arange(len(order))
            for exact in self._problems.values():
                exact.members = now[exact.members]
        self._publish()

    # -- what is there -----------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        """Refuse to predict, or to prove anything, without rows of positive weight."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} has no rows to learn from: add some with partial_fit, "
                "or call fit"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_store") and bool(self._store.weight.any())

    @property
    def ids_(self) -> Ints:
        """Numbers of the rows that are there, in order of arrival."""
        check_is_fitted(self, "_store")
        return np.sort(self._store.ids)

    @property
    def n_rows_(self) -> int:
        """How many rows there are."""
        check_is_fitted(self, "_store")
        return self._store.n

    @property
    def certificates_(self) -> list[Certificate]:  # type: ignore[override]
        """What is proved of each problem; computed when it is asked for."""
        self._check_fitted()
        if self._proof is None:
            self.verify()
        assert self._proof is not None
        return self._proof

    @property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """The one of `certificates_` that proves least; computed when it is asked for."""
        return worst(self.certificates_)

    def verify(self) -> Certificate:
        """Recompute everything from the rows and the coefficients, and prove how exact they are.

        Returns
        -------
        Certificate
            Its status is "optimal" if the optimality conditions hold for all rows to `tol` times
            the largest target (or 1).

        Raises
        ------
        NotFittedError
            If there are no rows of positive weight: nothing can be proved of nothing.
        """
        self._check_fitted()
        tol = self._tolerance()
        self._proof = [exact.certificate(tol) for exact in self._present()]
        if not self._proof:  # rows of one class: zero is the optimum
            self._proof = [Certificate(0.0, 0.0, 0.0, 0.0, 0.0, "optimal", self._store.n, tol)]
        return worst(self._proof)

    def _tolerance(self) -> float:
        """What `verify` allows."""
        return validation.require_real("tol", self.tol, above=0.0)

    def leave_one_out(self) -> Floats:
        """What the model would say of each row if it had never seen that row.

        Exact: each row is taken out of a copy of the optimum, which costs a few steps instead of
        a refit, and nothing at all where the row has no influence.

        Returns
        -------
        ndarray of shape (n_rows_,) or (n_rows_, n_classes) or (n_rows_, n_pairs)
            Decision values of classifiers and one-class machines, predictions of regressions, in
            order of arrival.
        """
        check_is_fitted(self, "_store")
        self._present()
        with limited_blas(1):
            values = self._left_out()
        return values[np.argsort(self._store.ids, kind="stable")]

    def _present(self) -> Iterable[Optimum]:
        """All problems, found anew if a change went wrong. Sets: problems."""
        if not self._problems:
            settings = self._settings()
            with _Change(self) as touched, limited_blas(1):
                self._arrange(np.zeros(0, dtype=np.int64), settings)
                self._publish()
                touched.done = True
        return self._problems.values()

    def _adopt_rows(self, coef: Floats, support: Ints, intercept: Floats, **more: Any) -> None:
        """Sets: the fitted attributes that all machines have.

        Parameters
        ----------
        coef : ndarray of shape (lines, n)
            Of the rows as they stand in the store.
        support : ndarray
            Where the support vectors stand, in the order in which they are wanted.
        intercept : ndarray
        """
        store = self._store
        arrival = np.argsort(np.argsort(store.ids, kind="stable"), kind="stable")
        lines: Any = np.ascontiguousarray(coef[:, support])
        if sparse.issparse(store.X) and not callable(self.kernel):
            lines = sparse.csr_matrix(lines)
        fitted = {
            "_kernel": store.kernel,
            "_gamma": getattr(store.kernel, "gamma", 0.0),
            "_centre": store.centre,
            "_scale": 1.0,
            "support_": arrival[support].astype(np.int32),
            "support_vectors_": store.X[support],
            "dual_coef_": lines,
            "intercept_": uncentred_intercept(
                store.kernel,
                store.centre,
                intercept,
                coef[:, support],
                store.X[support],
                more["n_support_"],
            ),
            "trace_": Trace(),
            "n_kernel_values_": store.kernel_values,
            "fit_status_": 0,
            "shape_fit_": store.X.shape,
            "n_iter_": sum(exact.steps for exact in self._problems.values()),
        }
        self.__dict__.update(fitted | more)


def _set_back(begun: Kernel, now: Kernel) -> str:
    """Which parameters have to be set back to which values."""
    back = {field.name: getattr(begun, field.name) for field in fields(begun)}
    if type(now) is not type(begun):
        back = {"kernel": type(begun).__name__.lower()} | back
    else:
        back = {name: value for name, value in back.items() if value != getattr(now, name)}
    if "function" in back:
        back["kernel"] = back.pop("function")
    return " and ".join(f"{name} back to {value!r}" for name, value in back.items())


def level_of_caller() -> int:
    """The stacklevel that lets a warning of the function that asks point out of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("widestreet."):
        frame, level = frame.f_back, level + 1
    return level


class _Change:
    """Within the block, a machine is changed: whole, or not at all if anything goes wrong.

    In the latter case its problems are solved anew when they are needed.

    Attributes
    ----------
    done : bool
        Whether the change is final.
    arrived : int
        How many rows had ever come before.
    """

    def __init__(self, machine: OnlineMachine) -> None:
        self.done, self._machine = False, machine
        self._state = dict(vars(machine))
        store = self._state.get("_store")
        self._rows = None if store is None else store.kept()
        self.arrived = 0 if store is None else store.arrived

    def keep(self, gone: Ints) -> None:
        """Remember what is overwritten when rows are removed."""
        if self._rows is not None:
            self._rows.keep(self._machine._store, gone)

    def __enter__(self) -> _Change:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self.done:
            return
        with undisturbed():
            if self._rows is not None:
                self._state["_store"].restore(self._rows)
                self._state |= {"_problems": {}, "_proof": None}
            self._machine.__dict__ = self._state
        if isinstance(error, InfeasibleError) and callable(self._machine.kernel):
            raise ValueError(
                "kernel must be positive semidefinite, and the values of this function are not: "
                "there is no path to follow"
            ) from error
