"""Online machines: rows are added and removed, and the model is optimal after every call."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from widestreet._src import checks
from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import Certificate, worst
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators import data_checks, parameter_checks
from widestreet._src.estimators.model import KernelModel
from widestreet._src.estimators.online.batch_model import as_batch
from widestreet._src.estimators.online.change import changing, indefinite_kernels_named
from widestreet._src.estimators.online.intake import (
    batch_settings,
    check_rows,
    check_same_kernel,
    new_store,
    positions,
)
from widestreet._src.estimators.online.optimum import Optimum, no_limit
from widestreet._src.estimators.online.path_optimum import PathOptimum
from widestreet._src.estimators.online.persistence import Log, open_journal, save
from widestreet._src.estimators.online.plain_state import rows_of, state_from
from widestreet._src.estimators.online.problem import OnlineProblem
from widestreet._src.estimators.online.state import OnlineState
from widestreet._src.estimators.online.tasks import Task
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.threads import limited_blas

_NO_ROWS: Ints = np.zeros(0, dtype=np.int64)


class OnlineMachine(KernelModel):
    """Base class of the online estimators.

    `_state` holds the rows and the optima, `_task` defines which problems the rows form.
    """

    tol: float
    max_rows: int | None

    _state: OnlineState
    _log: Log | None = None
    _budget: Budget | None = None  # limit on the time of a fit that is part of other work

    # -- defined by the subclasses ---------------------------------------------------------------

    @abstractmethod
    def _formulation(self) -> DualFormulation:
        """Return which SVM this is, with its parameters checked."""

    @property
    @abstractmethod
    def _task(self) -> Task:
        """Definition of the problems that the rows form."""

    def _check_parameters(self) -> None:
        """Check the parameters that do not belong to the formulation."""
        if self.max_rows is not None:
            checks.require_integer("max_rows", self.max_rows, least=1)

    def _check_weights(self, weight: Floats, before: Floats | None = None) -> None:
        """Check new weights of rows, which had the weights `before`; a method may refuse some."""

    def _warn(self, state: OnlineState) -> None:
        """Warn if the optimum is not the one that the parameters ask for."""

    def _solve(
        self,
        state: OnlineState,
        problem: OnlineProblem,
        members: Ints,
        beta: Floats | None = None,
    ) -> Optimum:
        """Return the optimum of a problem; `beta` are its variables, if they are known."""
        return PathOptimum(state.store, members, problem, batch_settings(self), beta)

    def _arrange(self, state: OnlineState, new: Ints) -> None:
        """Bring every problem to its optimum. Sets: state."""
        state.configure(batch_settings(self))
        wanted = self._task.problems(state, self._formulation())
        state.arrange(wanted, new, lambda *problem: self._solve(state, *problem))

    # -- adding and removing rows ------------------------------------------------------------------

    def _add(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        journal: Any = None,
        classes: Any = None,
        *,
        fresh: bool = False,
        **options: Any,
    ) -> Self:
        """Add rows, or train on them alone if `fresh`. Sets: everything that is fitted.

        If anything fails, nothing is changed. `options` are those of `validate_data`.
        """
        batch_settings(self)
        self._check_parameters()
        state = None if fresh else getattr(self, "_state", None)
        formulation, first = self._formulation(), state is None
        parameter_checks.require_kernel(self.kernel)
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' cannot be updated online; pass the rows and a kernel"
            )
        if state is not None:
            check_same_kernel(self, state.store.kernel)
            self._restore_optima(state)
        arrays, seen = self._validated(X, y, reset=first, **options)
        X, y = arrays if isinstance(arrays, tuple) else (arrays, None)
        names = seen.get("feature_names_in_")
        X = check_rows(self, X, names, None if state is None else state.store)
        weight = data_checks.check_weight(sample_weight, X.shape[0], may_vanish=not first)
        self._check_weights(weight)
        given = {"X": X, "weight": weight} | ({} if y is None else {"y": y})
        given |= {} if classes is None else {"classes": np.asarray(classes)}
        given |= {} if names is None else {"feature_names": np.asarray(names, dtype=str)}
        target, every = self._task.targets(y, X.shape[0], classes, state)
        if state is None:
            centred = formulation.coefficients_sum_to_zero
            state = OnlineState(new_store(self, X, weight, centred=centred), seen, every)
        if not fresh:
            open_journal(self, journal)
        with changing(self, state, journal, "add", given) as gone:
            state.rename_classes(every)
            new = state.store.add(X, target, weight)
            if self.max_rows is not None:
                oldest = np.argsort(state.store.ids, kind="stable")
                gone.append(oldest[: max(0, state.store.n - self.max_rows)])
                state.store.weight[gone[0]] = 0.0
            self._arrange(state, new)
            if fresh:
                self._task.check_complete(state)
                open_journal(self, None)
        return self

    def forget(self, ids: Any, *, journal: Any = None) -> Self:
        """Remove rows: the model becomes the one that `fit` would find on the others.

        Parameters
        ----------
        ids : int or array-like of int
            Ids of rows, which count from 0 in order of arrival; `ids_` holds those of the stored
            rows.
        journal : str or path-like, default=None
            Same as for `partial_fit`.

        Returns
        -------
        estimator
            The estimator itself.
        """
        check_is_fitted(self, "_state")
        rows = np.unique(positions(ids, self._state.store))
        self._reweigh(rows, np.zeros(len(rows)), journal, "forget", leaving=True)
        return self

    def change_weight(self, ids: Any, sample_weight: Any, *, journal: Any = None) -> Self:
        """Change the weights of rows.

        Parameters
        ----------
        ids : int or array-like of int
            Ids of rows, which count from 0 in order of arrival.
        sample_weight : float or array-like
            New weights of these rows.
        journal : str or path-like, default=None
            Same as for `partial_fit`.

        Returns
        -------
        estimator
            The estimator itself.
        """
        check_is_fitted(self, "_state")
        rows = positions(ids, self._state.store)
        if len(np.unique(rows)) < len(rows):
            raise ValueError(f"ids: each row may appear only once, got {ids!r}")
        weight = data_checks.check_weight(sample_weight, len(rows), may_vanish=True)
        self._reweigh(rows, weight, journal, "weight", leaving=False)
        return self

    def _reweigh(
        self, rows: Ints, weight: Floats, journal: Any, kind: str, *, leaving: bool
    ) -> None:
        """Change the weights of rows, and remove those that leave. Sets: all that is fitted."""
        batch_settings(self)
        self._check_parameters()
        state = self._state
        check_same_kernel(self, state.store.kernel)
        self._restore_optima(state)
        self._check_weights(weight, state.store.weight[rows])
        open_journal(self, journal)
        given = {"ids": state.store.ids[rows]} | ({} if leaving else {"weight": weight})
        with changing(self, state, journal, kind, given) as gone:
            state.store.weight[rows] = weight
            self._arrange(state, _NO_ROWS)
            if leaving:
                gone.append(rows)

    def _published(self, state: OnlineState) -> dict[str, Any]:
        """Return the attributes of this estimator with the model of a state."""
        solutions = {key: optimum.solution for key, optimum in state.optima.items()}
        fitted = self._task.attributes(state, solutions, self._formulation(), self.tol)
        kept = {name: value for name, value in vars(self).items() if name != "feature_names_in_"}
        return kept | fitted | state.seen | {"_state": state}

    # -- files -------------------------------------------------------------------------------------

    def end_journal(self) -> None:
        """Close the journal, if one is open, so that another process can open it."""
        if self._log is not None:
            self._log.journal.close()
            self._log = None

    def save(self, path: Any, *, trace: bool = True) -> None:
        """Write the estimator with its rows to a file, which `widestreet.load` reads.

        The file is replaced atomically. An open journal continues. `load` reads both files and
        replays the journal records that were made after `save`.

        Parameters
        ----------
        path : str or path-like
        trace : bool, default=True
            If False, `trace_` is left out.
        """
        check_is_fitted(self, "_state")
        save(self, path, trace=trace)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        other = {name: value for name, value in state["other"].items() if name != "_log"}
        if "_state" in other:
            state["rows"] = rows_of(other.pop("_state"))
        return state | {"other": other}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "rows" in state:
            self._state = state_from(self, state["rows"])

    def __copy__(self) -> Self:
        return deepcopy(self)

    # -- stored rows and certificates --------------------------------------------------------------

    def _check_fitted(self) -> None:
        """Raise NotFittedError if no stored row has a positive weight."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} has no rows of positive weight: add some with "
                "partial_fit, or call fit"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state") and bool(self._state.store.weight.any())

    @property
    def ids_(self) -> Ints:
        """Ids of the stored rows, in order of arrival."""
        check_is_fitted(self, "_state")
        return np.sort(self._state.store.ids)

    @property
    def n_rows_(self) -> int:
        """Number of stored rows."""
        check_is_fitted(self, "_state")
        return self._state.store.n

    @property
    def certificates_(self) -> list[Certificate]:
        """Certificate of each problem, computed on first access after a change."""
        self._check_fitted()
        if self._state.proof is None:
            self.verify()
        assert self._state.proof is not None
        return self._state.proof

    @property
    def certificate_(self) -> Certificate:
        """Worst of `certificates_`, computed on first access after a change."""
        return worst(self.certificates_)

    def verify(self) -> Certificate:
        """Return a new certificate, computed over all rows from the coefficients.

        Returns
        -------
        Certificate
            Certificate with status "optimal" if the violation of the optimality conditions is at
            most `tol` for all rows; for regressors, at most tol * max(1, max |y|).

        Raises
        ------
        NotFittedError
            If no stored row has a positive weight.
        """
        self._check_fitted()
        state = self._present()
        state.configure(batch_settings(self))
        tol = state.tolerance(self.tol)
        state.proof = [optimum.certificate(tol) for optimum in state.optima.values()]
        if not state.proof:  # rows of one class: zero is the optimum
            state.proof = [Certificate.trivial(state.store.n, tol)]
        return worst(state.proof)

    def leave_one_out(self) -> Floats:
        """Predict each row with the model trained on all other rows.

        The result is exact. Each row is removed from a copy of the optimum, which takes a few steps
        instead of a refit, and none if the row has no influence.

        Returns
        -------
        ndarray of shape (n_rows_,) or (n_rows_, n_classes) or (n_rows_, n_pairs)
            Decision values of classifiers and one-class SVMs, predictions of regressors, in order
            of arrival.
        """
        return self._leave_one_out(no_limit)

    def _leave_one_out(self, look: Callable[[], None]) -> Floats:
        """Return `leave_one_out()`; `look` is called before each removal and may raise an error."""
        state = self._present()
        state.configure(batch_settings(self))
        values = self._scorer(state.store.X)().T + self.intercept_
        with limited_blas(1), indefinite_kernels_named(state.store):
            values = self._task.left_out(state, self._formulation(), self.tol, values, look)
        values = values[np.argsort(state.store.ids, kind="stable")]
        return self._shaped(values)

    def compact(self, tolerance: float, *, rows: Any = None, quantile: float = 1.0) -> Any:
        """Return a batch estimator with fewer support vectors and nearly the same decision values.

        The result has no rows, so that none can be added or removed. Online estimators keep all of
        their support vectors, because the next change needs them.

        Parameters
        ----------
        tolerance : float
            Largest change of decision values.
        rows : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Same as for `SVC.compact`.
        quantile : float, default=1.0
            Same as for `SVC.compact`.

        Returns
        -------
        SVC, NuSVC, SVR, NuSVR or OneClassSVM
            Fitted estimator with the attribute `compaction_`.
        """
        self._check_fitted()
        return as_batch(self).compact(tolerance, rows=rows, quantile=quantile)

    def _shaped(self, values: Floats) -> Floats:
        """Return decision values of shape (n, pairs) as `decision_function` does."""
        return values[:, 0]

    def _present(self) -> OnlineState:
        """Return the state with all optima, which are solved again after a failed change."""
        check_is_fitted(self, "_state")
        self._restore_optima(self._state)
        if not self._state.optima:
            with changing(self, self._state, None, "", {}):
                self._arrange(self._state, _NO_ROWS)
        return self._state

    def _restore_optima(self, state: OnlineState) -> None:
        """Restore optima whose variables were read from a file or a pickle. Sets: state."""
        if not state.known:
            return
        wanted = self._task.problems(state, self._formulation())
        with limited_blas(1), indefinite_kernels_named(state.store):
            state.optima = {
                key: self._solve(state, wanted[key][0], members, beta)
                for key, (members, beta) in state.known.items()
            }
        state.known = {}
