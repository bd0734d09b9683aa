"""What all kernel machines share: data in, training, attributes out, scores of new rows."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Callable as Function
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import Certificate
from widestreet._src.engines.budget import parse_memory
from widestreet._src.engines.solution import Trace
from widestreet._src.estimators import validation
from widestreet._src.estimators.callbacks import FRAMES, CallbackSupport, RoundReporter
from widestreet._src.estimators.columns import explained, warn_of_scales
from widestreet._src.interrupts import undisturbed
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Callable, Kernel, Linear, Precomputed
from widestreet._src.problems.dual import Dual
from widestreet._src.reporting.observers import Observers
from widestreet._src.rows import (
    CsrRows,
    KernelRows,
    Merged,
    Rows,
    as_rows,
    merge_duplicates,
    without_empty,
)
from widestreet._src.threads import resolve_threads
from widestreet._src.training.one_vs_one import sums_of_pairs
from widestreet._src.training.training import (
    SUCCESS,
    Problem,
    Settings,
    Trained,
    advice,
    train,
    worst,
)

_DTYPES = [np.float64, np.float32]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Validated data on its way into a dual: distinct rows, each row's box, and their names."""

    kernel: Kernel
    rows: Rows
    merged: Merged
    box: Floats
    seen: dict[str, Any]

    @property
    def kept(self) -> Ints | None:
        """Where the rows of the dual stand among all rows; None when they are all of them."""
        whole = len(self.merged.kept) == self.rows.shape[0]
        return None if whole else self.merged.kept


class KernelMachine(CallbackSupport, BaseEstimator):
    """Base of the estimators. The subclasses choose the dual and read its solution."""

    # Parameters, set by the subclasses' __init__ as scikit-learn wants it.
    kernel: Any
    degree: int
    gamma: float | str
    coef0: float
    tol: float
    gap_tol: float | None
    shrinking: bool
    cache_size: float | None
    verbose: int | bool
    max_iter: int
    random_state: Any
    strategy: Any
    max_time: float | None
    max_memory: int | float | str | None
    n_jobs: int | None
    device: str
    on_interrupt: str
    warm_start: bool

    # Then the centre of a linear kernel changes the scores of all rows by the same constant.
    _coefficients_sum_to_zero: ClassVar[bool] = True

    # What a fit sets.
    support_: Ints
    support_vectors_: Any
    n_support_: Ints
    dual_coef_: Any
    intercept_: Floats
    certificate_: Certificate
    certificates_: list[Certificate]
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
        """Refuse parameters without a name with the way to write them."""
        if given:
            name, first = cls.__name__, next(iter(signature(cls).parameters.values()))
            if first.kind is Parameter.KEYWORD_ONLY:  # a subclass may take others
                said = f"{name}({first.name}={reprlib.repr(given[0])})"
                raise TypeError(f"{name} takes its parameters by name: write {said}")
        made: Self = super().__new__(cls)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # -- training --------------------------------------------------------------------------------

    def _settings(self) -> Settings:
        """The parameters that every machine has, checked."""
        validation.require_choice("device", self.device, ("cpu",))
        validation.require_choice("on_interrupt", self.on_interrupt, ("raise", "keep"))
        validation.require_flag("warm_start", self.warm_start)
        max_time = self.max_time
        if max_time is not None:
            max_time = validation.require_real("max_time", max_time, above=0.0)
        gap_tol = self.gap_tol
        if gap_tol is not None:
            gap_tol = validation.require_real("gap_tol", gap_tol, above=0.0)
        memory = self.max_memory
        if self.cache_size is not None:
            cache = 1e6 * validation.require_real("cache_size", self.cache_size, above=0.0)
            memory = cache if memory is None else memory
        return Settings(
            strategy=validation.resolve_strategy(self.strategy),
            tol=validation.require_real("tol", self.tol, above=0.0),
            gap_tol=gap_tol,
            max_steps=validation.require_limit("max_iter", self.max_iter),
            max_time=max_time,
            max_memory=parse_memory(memory),
            threads=resolve_threads(self.n_jobs),
            verbose=validation.require_level("verbose", self.verbose),
            skip=validation.require_flag("shrinking", self.shrinking),
            rng=validation.resolve_rng(self.random_state),
        )

    def _validated(
        self, X: Any, y: Any = "no_validation", **options: Any
    ) -> tuple[Any, dict[str, Any]]:
        """X, or X and y, as arrays, without a copy where none is needed.

        And what is to be known of them later: n_features_in_ and perhaps feature_names_in_.
        """
        validation.require_kernel(self.kernel)
        if self.kernel == "precomputed" and sparse.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported: pass X.toarray()")
        scratch = object.__new__(type(self))
        scratch.__dict__.update(self.__dict__)
        arrays = self._as_arrays(scratch, X, y, **options)
        names = ("n_features_in_", "feature_names_in_")
        return arrays, {name: vars(scratch)[name] for name in names if name in vars(scratch)}

    def _as_arrays(self, seen: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Validate X, or X and y, by the attributes of `seen`. Sets: those attributes."""
        if sparse.issparse(X):
            X = validation.check_sparse(X)
        with explained(X, y, numeric="y_numeric" in options):
            return validate_data(
                seen,
                X,
                y,
                dtype=_DTYPES,
                accept_sparse=self._accept_sparse(),
                accept_large_sparse=True,
                **options,
            )

    def _accept_sparse(self) -> Any:
        return False if self.kernel == "precomputed" else "csr"

    def _prepare(
        self,
        X: Any,
        seen: dict[str, Any],
        label: Floats | Ints,
        weight: Floats,
        box: Floats,
        threads: int,
    ) -> Prepared:
        """Resolve the kernel and merge equal rows.

        Parameters
        ----------
        X : ndarray or CSR
        seen : dict
            What `_validated` says of it.
        label : ndarray
            Rows are merged if this is equal, too.
        weight : ndarray
            Sample weights, for gamma="scale".
        box : ndarray
            C times everything that multiplies it.
        threads : int
        """
        if self.kernel == "precomputed":
            validation.check_kernel_matrix(X)
        elif not callable(self.kernel):
            validation.check_magnitude(X)
            warn_of_scales(X, seen.get("feature_names_in_"), stacklevel=3 + FRAMES)
        uses_gamma = self.kernel in ("rbf", "poly", "sigmoid", "laplacian")
        gamma = self._resolved_gamma(X, weight) if uses_gamma else 0.0
        kernel = validation.resolve_kernel(
            self.kernel, gamma=gamma, coef0=self.coef0, degree=self.degree
        )
        validation.check_powers(kernel, X)
        if isinstance(kernel, Precomputed):
            rows: Rows = KernelRows(X, np.arange(X.shape[0]))
            return Prepared(kernel, rows, without_empty(box), box, seen)
        centred = kernel.translation_invariant or (
            isinstance(kernel, Linear) and self._coefficients_sum_to_zero
        )
        vectors = as_rows(X, centred=centred)
        merged = merge_duplicates(vectors, np.asarray(label, dtype=np.float64), box, threads)
        return Prepared(kernel, vectors, merged, box, seen)

    def _resolved_gamma(self, X: Any, weight: Floats) -> float:
        """The number behind gamma."""
        return validation.resolve_gamma(self.gamma, X, weight)

    def _warm(self, lines: int, rows: int, scale: float) -> Floats | None:
        """Coefficients of the last fit, to begin with; None if there are none that fit.

        Parameters
        ----------
        lines, rows : int
            Shape of the coefficients wanted.
        scale : float
            What coefficients are proportional to: C, or nu.
        """
        if not self.warm_start or not hasattr(self, "support_"):
            return None
        coef = dense_coef(self.dual_coef_)
        if len(coef) != lines or self.shape_fit_[0] != rows:
            return None
        before = np.zeros((lines, rows))
        before[:, self.support_] = coef * (scale / self._scale)
        return before

    def _fit_single(
        self,
        prepared: Prepared,
        dual: Dual,
        settings: Settings,
        scale: float,
        report: RoundReporter,
        read: Function[[Floats], dict[str, Any]],
    ) -> None:
        """Train the one problem of a regression or a one-class machine.

        `read` makes attributes of the biases. Sets: everything that is fitted.
        """
        merged = prepared.merged
        before = self._warm(1, prepared.rows.shape[0], scale)
        problem = Problem(dual)
        if before is not None:
            coef = merged.gather(before)
            layers = [coef] if dual.layers == 1 else [np.maximum(coef, 0), np.minimum(coef, 0)]
            problem = problem.starting_at(np.concatenate(layers))
        with Observers(settings.verbose, settings.tol, report) as watch, watch.problem() as observe:
            trained = train(
                prepared.kernel, prepared.rows, problem, settings, observe, prepared.kept
            )
        with undisturbed(swallow=self.on_interrupt == "keep"):  # there is a model: it is not lost
            coef = merged.spread(trained.solution.beta, prepared.box).sum(axis=0, keepdims=True)
            support = np.flatnonzero(coef)
            self._adopt(
                prepared,
                coef,
                support,
                [trained],
                scale,
                [int(np.count_nonzero(prepared.box))],
                n_support_=np.array([len(support)], dtype=np.int32),
                n_iter_=trained.solution.pair_steps,
                **read(trained.bias),
            )

    def _adopt(
        self,
        prepared: Prepared,
        coef: Floats,
        support: Ints,
        trained: list[Trained],
        scale: float,
        n_rows: list[int],
        **more: Any,
    ) -> None:
        """Make the result of training the model, with `more` attributes of its kind.

        `n_rows` are the rows of each problem before equal ones were merged.

        Nothing is set before training has succeeded, so that a failed refit leaves the old model.

        Sets: all that ends in an underscore.
        """
        rows = prepared.rows
        certificates = [
            replace(one.certificate, n_rows=n if one.certificate.n_rows else 0)
            for one, n in zip(trained, n_rows, strict=True)
        ]
        lines: Any = np.ascontiguousarray(coef[:, support])
        if isinstance(rows, CsrRows) and not isinstance(prepared.kernel, Callable):
            lines = sparse.csr_matrix(lines)
        precomputed = isinstance(prepared.kernel, Precomputed)
        fitted = {
            "_kernel": prepared.kernel,
            "_gamma": getattr(prepared.kernel, "gamma", 0.0),
            "_centre": getattr(rows, "centre", None),
            "_scale": scale,
            "support_": support.astype(np.int32),
            "support_vectors_": np.empty((0, 0)) if precomputed else rows.data[support],
            "dual_coef_": lines,
            "certificates_": certificates,
            "certificate_": worst(certificates),
            "trace_": Trace(record for one in trained for record in one.solution.trace),
            "n_kernel_values_": sum(one.solution.kernel_values for one in trained),
            "fit_status_": int(worst(certificates).status not in SUCCESS),
            "shape_fit_": rows.shape,
        }
        more["intercept_"] = uncentred_intercept(
            prepared.kernel,
            fitted["_centre"],
            more["intercept_"],
            coef[:, support],
            fitted["support_vectors_"],
            more["n_support_"],
        )
        kept = {name: value for name, value in vars(self).items() if name != "feature_names_in_"}
        self.__dict__ = kept | fitted | prepared.seen | more  # at once: no interrupt comes between

    def _finish(self, report: RoundReporter) -> None:
        """Say what is not as it should be, and let an interrupt through: the model is ready."""
        report.finish()
        message = advice(self.certificates_)
        if message is not None:
            warnings.warn(message, ConvergenceWarning, stacklevel=3 + FRAMES)
        stopped = any(c.status == "interrupted" for c in self.certificates_)
        if stopped and self.on_interrupt == "raise":
            raise KeyboardInterrupt

    # -- prediction ------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        """Refuse to predict without a model."""
        check_is_fitted(self)

    def _query(self, X: Any) -> Any:
        """Rows to predict, validated."""
        self._check_fitted()
        return self._as_arrays(self, X, reset=False)

    def _gram(self, X: Any, vectors: Any, column: Ints) -> Gram:
        """Kernel values between validated rows and vectors.

        Parameters
        ----------
        X : ndarray or CSR
        vectors : ndarray or CSR
        column : ndarray
            Where the vectors stood among the training rows, for a precomputed kernel.
        """
        if isinstance(self._kernel, Precomputed):
            left: Rows = KernelRows(X, np.arange(X.shape[0]))
            right: Rows = KernelRows(X, column.astype(np.int64))
        else:
            # Sparse rows have no centre: then neither do the vectors.
            centre = None if sparse.issparse(X) else self._centre
            linear = isinstance(self._kernel, Linear)  # its intercept is that of rows as they are
            left = as_rows(X, centre=None if linear else centre)
            right = as_rows(vectors, centre=centre)
        return Gram(self._kernel, left, right, threads=resolve_threads(self.n_jobs))

    def _scores(self, X: Any, bounds: Ints | None = None) -> list[Floats]:
        """Sums of coefficient times kernel value, in bounded memory.

        Parameters
        ----------
        X : ndarray or CSR
            Validated rows.
        bounds : ndarray, optional
            The support vectors are summed in parts that end before these positions.

        Returns
        -------
        list of ndarray of shape (lines of dual_coef_, n)
            One for each part.
        """
        support = np.arange(len(self.support_))
        gram = self._gram(X, self.support_vectors_, self.support_)
        coef = dense_coef(self.dual_coef_)
        ends = [0, *([] if bounds is None else bounds.tolist()), len(support)]
        sums = [gram.scan(None, support[a:b], coef[:, a:b]) for a, b in pairwise(ends)]
        if not all(np.isfinite(part).all() for part in sums):
            raise ValueError(
                "X contains rows so large that kernel values overflow: scale the features as for "
                "training"
            )
        return sums

    @property
    def coef_(self) -> Any:
        """Weights of the features, for kernel="linear" only."""
        self._check_fitted()
        if not isinstance(self._kernel, Linear):
            raise AttributeError("coef_ is only available when kernel='linear'")
        coef = self._linear_coef()
        (coef.data if sparse.issparse(coef) else coef).flags.writeable = False
        return coef

    def _linear_coef(self) -> Any:
        """Return the weights; of centred rows, as their coefficients add up to zero."""
        if sparse.issparse(self.dual_coef_) or self._centre is None:
            return self.dual_coef_ @ self.support_vectors_
        return linear_weights(
            self.dual_coef_, self.support_vectors_ - self._centre, self.n_support_
        )


def uncentred_intercept(
    kernel: Kernel,
    centre: Floats | None,
    intercept: Floats,
    coef: Floats,
    vectors: Any,
    n_support: Ints,
) -> Floats:
    """Return the intercept for rows as they are, of a linear kernel on rows less a centre.

    With w the sum of coefficients times vectors, w.(x - centre) + b = w.x + (b - w.centre).

    Parameters
    ----------
    kernel : Kernel
    centre : ndarray or None
    intercept : ndarray of shape (pairs,)
        Those for centred rows.
    coef : ndarray of shape (lines, n)
        Lines of `dual_coef_`.
    vectors : ndarray of shape (n, features)
        Support vectors.
    n_support : ndarray
        Support vectors of each class.
    """
    if not isinstance(kernel, Linear) or centre is None:
        return intercept
    return np.asarray(intercept - linear_weights(coef, vectors - centre, n_support) @ centre)


def linear_weights(coef: Floats, vectors: Floats, n_support: Ints) -> Floats:
    """Return the weights of the features for each pair of classes, or the only ones.

    Parameters
    ----------
    coef : ndarray of shape (lines, n)
        Lines of `dual_coef_`.
    vectors : ndarray of shape (n, features)
        Support vectors, those of one class after the other.
    n_support : ndarray
        Support vectors of each class.
    """
    if len(coef) == 1:
        return np.asarray(coef @ vectors)
    ends = np.cumsum(n_support)
    sums = [coef[:, a - n : a] @ vectors[a - n : a] for a, n in zip(ends, n_support, strict=True)]
    return sums_of_pairs(np.array(sums))


def dense_coef(coef: Any) -> Floats:
    """Coefficients as an array."""
    return np.asarray(coef.toarray() if sparse.issparse(coef) else coef)
