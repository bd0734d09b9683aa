"""Base class of the estimators that contain an SVM: fit, limit on the time, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from widestreet._src import checks
from widestreet._src.arrays import Floats
from widestreet._src.calibration.removals import require_cv
from widestreet._src.certificate import Certificate
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.estimators import data_checks, reported
from widestreet._src.estimators.contained import svm_of
from widestreet._src.estimators.plain_state import attributes_of, state_of
from widestreet._src.estimators.saving import save
from widestreet._src.files.table import StoredRows
from widestreet._src.reporting.bar import progress_bar

_MACHINE_SHARE = 0.5  # of max_time, for the fit of the SVM; the rest is for the held-out models


class SVMWrapper(BaseEstimator):
    """Base class of estimators that fit an SVM and add what models without some rows say.

    Subclasses set `_machines`, the classes that `estimator` may have; None means the first. One
    that chooses its parameters is fitted first, and the other models have its choice. `_adds` names
    what they add.
    """

    _machines: ClassVar[tuple[type[Any], ...]]
    _adds: ClassVar[str]

    estimator: Any
    cv: Any

    estimator_: Any
    cv_: Any
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._machines[0]() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags

    @property
    def certificate_(self) -> Certificate:
        """Certificate of `estimator_`."""
        check_is_fitted(self, "estimator_")
        found: Certificate = self.estimator_.certificate_
        return found

    # -- training ----------------------------------------------------------------------------------

    def _machine(self) -> Any:
        """Return an unfitted copy of the SVM, whose class is checked."""
        names = " or ".join(kind.__name__ for kind in self._machines)
        if self.estimator is None:
            return self._machines[0]()
        if type(self.estimator) not in self._machines:
            hint = ""
            if hasattr(self.estimator, "steps"):
                name = type(self).__name__
                hint = f"; put the transformers before it: make_pipeline(..., {name}(...))"
            elif type(self.estimator).__name__ in [kind.__name__ for kind in self._machines]:
                hint = f"; pass widestreet.{type(self.estimator).__name__} with these parameters"
            raise TypeError(
                f"estimator must be {names} of widestreet, got {checks.shown(self.estimator)}{hint}"
            )
        return clone(self.estimator)

    def _fitted_machine(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, Any, Floats, Budget]:
        """Fit the SVM to all rows.

        Returns
        -------
        machine : estimator
            One of `_machines`, whose SVM `svm_of` returns.
        X : ndarray or CSR
            Validated rows.
        weight : ndarray
        budget : Budget
            What is left for further work.
        """
        require_cv(self.cv)
        machine = self._machine()
        if isinstance(X, StoredRows):
            raise TypeError(
                f"X was opened by open_rows, but {type(self).__name__} needs all rows in memory: "
                "pass X.to_numpy() and y.to_numpy()"
            )
        limit = machine.max_time
        if limit is not None:
            limit = checks.require_real("max_time", limit, above=0.0)
        budget = Budget(limit)
        if limit is not None:
            machine.set_params(max_time=_MACHINE_SHARE * limit)
        machine.fit(X, y, sample_weight=sample_weight)
        if limit is not None:
            machine.set_params(max_time=limit)
        rows = svm_of(machine)._query(X)
        return machine, rows, data_checks.check_weight(sample_weight, rows.shape[0]), budget

    def _adopt(self, machine: Any, fitted: dict[str, Any]) -> Self:
        """Set the fitted attributes in one assignment. Sets: all fitted attributes."""
        seen = ("n_features_in_", "feature_names_in_")
        names = {name: vars(machine)[name] for name in seen if name in vars(machine)}
        kept = {name: value for name, value in vars(self).items() if name not in seen}
        self.__dict__ = kept | {"estimator_": machine} | names | fitted
        return self

    # -- files -------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return state_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = attributes_of(state)

    def save(self, path: Any, *, trace: bool = True) -> None:
        """Write the fitted estimator to a file, which `widestreet.load` reads.

        The file holds JSON and arrays, no code. It is replaced atomically.

        Parameters
        ----------
        path : str or path-like
            Usually with the ending ".street".
        trace : bool, default=True
            If False, the trace of `estimator_` is left out.
        """
        check_is_fitted(self, "estimator_")
        save(self, path, {}, trace=trace)

    report = reported.report

    @classmethod
    def _check_state(cls, fitted: Mapping[str, Any]) -> None:
        """Raise ValueError if fitted attributes from a file are not those of such an estimator."""
        machine = fitted["estimator_"]
        if type(machine) not in cls._machines or "support_" not in vars(svm_of(machine)):
            raise ValueError("an estimator_ that is no fitted SVM")
        if fitted["n_features_in_"] != machine.n_features_in_:
            raise ValueError("n_features_in_ that is not that of estimator_")
        names = fitted.get("feature_names_in_")
        if names is not None and np.shape(names) != (machine.n_features_in_,):
            raise ValueError("names of other columns")


def held_out_bar(machine: Any) -> AbstractContextManager[Callable[[float], None]]:
    """Return the progress bar of the models without some rows, if the SVM is verbose."""
    return progress_bar("models without some rows", shown=bool(machine.verbose))


def out_of_time(max_time: float | None, stop: OutOfBudget) -> TimeoutError:
    """Return the error of held-out models that were not trained in time."""
    return TimeoutError(
        f"max_time={max_time!r} was over before the models without some of the rows were trained "
        f"({stop.status}): raise max_time of the estimator, or lower cv"
    )
