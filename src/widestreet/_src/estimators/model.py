"""Validation of data and scores of new rows, for all estimators."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from copy import copy
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Self, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from widestreet._src.arrays import Floats, Ints
from widestreet._src.device.lent import LentArray, on_device, on_host, returned
from widestreet._src.engines.solution import Trace
from widestreet._src.estimators import data_checks, parameter_checks, placing, reported
from widestreet._src.estimators.census_checks import checked
from widestreet._src.estimators.columns import explained
from widestreet._src.estimators.plain_state import attributes_of, state_of
from widestreet._src.estimators.saving import save
from widestreet._src.estimators.scoring import Scorer, expansion_of, gram_of
from widestreet._src.files.stream import Stream
from widestreet._src.files.table import StoredRows
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Kernel, Linear
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.rows.dense import column_figures
from widestreet._src.threads import resolve_threads

_DTYPES = [np.float64, np.float32]
_FEW_VALUES = 1 << 16  # of an array whose validation is worth a shortcut
_MANY_VALUES = 1 << 20  # of an array that threads check faster


class KernelModel(BaseEstimator):
    """Base class of all estimators: validates data and computes scores with a fitted model."""

    # Parameters, set by __init__ of the subclasses as scikit-learn requires.
    kernel: Any
    degree: int
    gamma: float | str
    coef0: float
    n_jobs: int | None
    random_state: Any
    max_memory: int | float | str | None

    # Set by `fitted_attributes`.
    n_features_in_: int
    support_: Ints
    support_vectors_: Any
    n_support_: Ints
    dual_coef_: Any
    intercept_: Floats
    trace_: Trace
    n_iter_: Any
    n_kernel_values_: int
    fit_status_: int
    shape_fit_: tuple[int, int]
    _kernel: Kernel
    _gamma: float
    _centre: Floats | None
    _scale: float

    def __new__(cls, *given: Any, **options: Any) -> Self:
        """Refuse positional parameters with a message that shows the keyword."""
        if given:
            name, first = cls.__name__, next(iter(signature(cls).parameters.values()))
            if first.kind is Parameter.KEYWORD_ONLY:  # a subclass may accept them
                said = f"{name}({first.name}={reprlib.repr(given[0])})"
                raise TypeError(f"{name} takes its parameters by name: write {said}")
        made: Self = super().__new__(cls)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # -- files -------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return state_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = attributes_of(state)

    def save(self, path: Any, *, trace: bool = True) -> None:
        """Write the fitted estimator to a file, which `widestreet.load` reads.

        The file holds JSON and arrays, no code. It is replaced atomically. Equal models have equal
        files, apart from the times in their traces.

        Parameters
        ----------
        path : str or path-like
            Usually with the ending ".street".
        trace : bool, default=True
            If False, `trace_` is left out.
        """
        self._check_fitted()
        save(self, path, {}, trace=trace)

    report = reported.report

    # -- data --------------------------------------------------------------------------------------

    def _validated(
        self, X: Any, y: Any = "no_validation", *, names: Any = None, **options: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return X, or X and y, as arrays, without a copy unless it is necessary.

        The second value holds `n_features_in_` and, if the columns have names, `feature_names_in_`:
        no attribute of the estimator is set before training has succeeded. `names` are those of
        columns that were read from files.
        """
        parameter_checks.require_kernel(self.kernel)
        if self.kernel == "precomputed" and sparse.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported: pass X.toarray()")
        scratch = object.__new__(type(self))
        scratch.__dict__.update(self.__dict__)
        arrays = self._as_arrays(scratch, X, y, **options)
        found = ("n_features_in_", "feature_names_in_")
        seen = {name: vars(scratch)[name] for name in found if name in vars(scratch)}
        return arrays, seen if names is None else seen | {"feature_names_in_": as_names(names)}

    def _as_arrays(self, seen: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Validate X, or X and y, against the attributes of `seen`. Sets: these attributes."""
        if isinstance(X, StoredRows):
            raise TypeError(
                f"X was opened by open_rows, but {type(self).__name__} needs all rows in memory: "
                "pass X.to_numpy()"
            )
        data_checks.refuse_collections(X=X, y=y)
        if isinstance(X, LentArray) and X.ndim == 2 and X.shape[0] and X.finite():
            # As many zeros, in the memory of one: all but the values is checked on the host.
            zeros = np.broadcast_to(X.dtype.type(0), X.shape)
            found = self._as_arrays(seen, zeros, y, ensure_all_finite=False, **options)
            return (X, found[1]) if isinstance(found, tuple) else X
        X, y = on_host(X), on_host(y)
        if sparse.issparse(X):
            X = data_checks.check_sparse(X)
        if "ensure_all_finite" not in options and self._is_finite(X):
            options["ensure_all_finite"] = False
        with explained(X, y, numeric="y_numeric" in options):
            return validate_data(
                seen,
                X,
                y,
                dtype=_DTYPES,
                accept_sparse=False if self.kernel == "precomputed" else "csr",
                accept_large_sparse=True,
                **options,
            )

    def _is_finite(self, X: Any) -> bool:
        """Return whether X is a large array of finite numbers, which several threads read."""
        if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in _DTYPES:
            return False
        if X.size < _MANY_VALUES or not X.dtype.isnative:
            return False
        return bool(np.isfinite(column_figures(X, resolve_threads(self.n_jobs))[0]).all())

    # -- scores ------------------------------------------------------------------------------------

    def _without_names(self, names: list[str] | None) -> Self:
        """Return the same model for rows without names, if these names are those of its columns."""
        self._check_fitted()
        known = getattr(self, "feature_names_in_", None)
        if known is None:
            return self
        if names is not None and list(known) != names:
            raise ValueError(
                f"X has the columns {reprlib.repr(names)}, but the model was trained on "
                f"{reprlib.repr(list(known))}: pass these as columns= to open_rows"
            )
        other = copy(self)
        del other.feature_names_in_
        return other

    @property
    def _layout(self) -> PairLayout:
        """Layout of the pairs of classes; one class for models without classes."""
        return PairLayout(len(self.n_support_))

    def _check_fitted(self) -> None:
        """Raise NotFittedError if there is no model."""
        if "n_features_in_" not in vars(self):  # else scikit-learn's check would pass as well
            check_is_fitted(self)

    def _query(self, X: Any) -> Any:
        """Return validated rows for prediction."""
        self._check_fitted()
        return X if self._is_valid(X) else self._as_arrays(self, X, reset=False)

    def _is_valid(self, X: Any) -> bool:
        """Return whether X is a small array that scikit-learn's validation would not change.

        That validation takes longer than the prediction of one row.
        """
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype.char in "df"
            and X.dtype.isnative
            and 0 < X.size <= _FEW_VALUES
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and bool(np.isfinite(X).all())
        )

    def _gram(self, X: Any, vectors: Any, column: Ints) -> Gram:
        """Return the kernel values between validated rows and vectors.

        Parameters
        ----------
        X : ndarray or CSR
        vectors : ndarray or CSR
        column : ndarray
            Indices of the vectors among the training rows, for a precomputed kernel.
        """
        return gram_of(self._kernel, X, vectors, column, self._centre, self.n_jobs)

    def _lent(self, X: Any) -> Any:
        """Return rows in the memory of the device of this estimator; anything else as it is."""
        return placing.lent(X, getattr(self, "device", "cpu"), self.kernel)

    def _query_and_truth(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        """Return what a score compares, such that predictions and targets are on the host."""
        lent = self._lent(X)
        return lent if isinstance(lent, LentArray) else on_host(X), on_host(y), on_host(weight)

    def _scorer(self, X: Any) -> Scorer:
        """Return a function that computes the scores of validated rows."""
        return expansion_of(self).scorer(X, self.n_jobs, getattr(self, "device", "cpu"))

    @property
    def coef_(self) -> Any:
        """Weights of the features, for kernel="linear" only."""
        self._check_fitted()
        if not isinstance(self._kernel, Linear):
            raise AttributeError("coef_ is only available when kernel='linear'")
        return expansion_of(self).weights


Predict = TypeVar("Predict", bound=Callable[..., Any])


def in_batches(predict: Predict) -> Predict:
    """Make a method that takes X accept rows from `open_rows`, and arrays of other libraries.

    Stored rows are read batch by batch. The result is an array of the library and on the device of
    X, if that is a GPU, or if scikit-learn's `array_api_dispatch` is on.
    """

    @wraps(predict)
    def call(self: KernelModel, X: Any) -> Any:
        if isinstance(X, np.ndarray):
            return predict(self, X)
        if not isinstance(X, StoredRows):
            values = predict(self, self._lent(X))
            return returned(values, X) if on_device(X) or _dispatched(X) else values
        model = self._without_names(X.feature_names)
        return np.concatenate([predict(model, batch) for batch, _, _ in checked(Stream(X))])

    return cast(Predict, call)


def _dispatched(X: Any) -> bool:
    """Return whether scikit-learn would return an array of the library of X."""
    return hasattr(X, "__dlpack__") and bool(get_config()["array_api_dispatch"])


def as_names(names: Any) -> Any:
    """Return names of columns as scikit-learn stores them."""
    return np.array(names, dtype=object)
