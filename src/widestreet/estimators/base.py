"""What all kernel machines share: data in, training, attributes out, scores of new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from widestreet.arrays import Floats, Ints
from widestreet.budget import parse_memory
from widestreet.duals import Dual
from widestreet.estimators import checks
from widestreet.estimators.training import Settings, Trained, train
from widestreet.gram import Gram
from widestreet.kernels import Kernel, Linear, Precomputed
from widestreet.rows import KernelRows, Merged, Rows, as_rows, merge_duplicates, without_empty
from widestreet.threads import resolve_threads

_DTYPES = [np.float64, np.float32]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Validated data on its way into a dual: distinct rows, and the box that each row had."""

    kernel: Kernel
    rows: Rows
    merged: Merged
    box: Floats

    @property
    def place(self) -> Ints | None:
        """Where the rows of the dual stand among all rows; None when they are all of them."""
        whole = len(self.merged.kept) == self.rows.shape[0]
        return None if whole else self.merged.kept


class KernelMachine(BaseEstimator):
    """Base of the estimators. The subclasses choose the dual and read its solution."""

    # Parameters, set by the subclasses' __init__ as scikit-learn wants it.
    kernel: Any
    degree: int
    gamma: float | str
    coef0: float
    tol: float
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # -- training --------------------------------------------------------------------------------

    def _settings(self) -> Settings:
        """The parameters that every machine has, checked."""
        checks.require_choice("device", self.device, ("cpu",))
        checks.require_choice("on_interrupt", self.on_interrupt, ("raise", "keep"))
        max_time = self.max_time
        if max_time is not None:
            max_time = checks.require_real("max_time", max_time, above=0.0)
        if self.max_iter != -1:
            checks.require_integer("max_iter", self.max_iter, least=1)
        memory = self.max_memory
        if self.cache_size is not None:
            cache = 1e6 * checks.require_real("cache_size", self.cache_size, above=0.0)
            memory = cache if memory is None else memory
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return Settings(
            strategy=checks.resolve_strategy(self.strategy),
            tol=checks.require_real("tol", self.tol, above=0.0),
            max_steps=int(self.max_iter),
            max_time=max_time,
            max_memory=parse_memory(memory),
            threads=resolve_threads(self.n_jobs),
            verbose=checks.require_level("verbose", self.verbose),
            skip=checks.require_flag("shrinking", self.shrinking),
            rng=np.random.default_rng(seed),
        )

    def _validated(self, X: Any, y: Any, **options: Any) -> tuple[Any, Any]:
        """X and y as arrays, without a copy where none is needed."""
        return validate_data(  # type: ignore[no-any-return]
            self,
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
        self, X: Any, label: Floats, weight: Floats, box: Floats, threads: int
    ) -> Prepared:
        """Resolve the kernel and merge equal rows.

        Parameters
        ----------
        X : ndarray or CSR
        label : ndarray
            Rows are merged if this is equal, too.
        weight : ndarray
            Sample weights, for gamma="scale".
        box : ndarray
            C times everything that multiplies it.
        threads : int
        """
        if self.kernel == "precomputed":
            checks.check_kernel_matrix(X)
        elif not callable(self.kernel):
            checks.check_magnitude(X)
            checks.warn_of_scales(X, getattr(self, "feature_names_in_", None))
        uses_gamma = self.kernel in ("rbf", "poly", "sigmoid", "laplacian")
        gamma = checks.resolve_gamma(self.gamma, X, weight) if uses_gamma else 0.0
        kernel = checks.resolve_kernel(
            self.kernel, gamma=gamma, coef0=self.coef0, degree=self.degree
        )
        if isinstance(kernel, Precomputed):
            rows: Rows = KernelRows(X, np.arange(X.shape[0]))
            return Prepared(kernel, rows, without_empty(box), box)
        vectors = as_rows(X, centred=kernel.translation_invariant)
        merged = merge_duplicates(vectors, np.asarray(label, dtype=np.float64), box, threads)
        return Prepared(kernel, vectors, merged, box)

    def _fit_dual(
        self,
        X: Any,
        prepared: Prepared,
        dual: Dual,
        settings: Settings,
        side: Floats | None = None,
    ) -> Trained:
        """Train and set what all machines have; support vectors are listed by `side`, if given.

        Nothing is set before training has succeeded, so that a failed refit leaves the old model.

        Sets: support_, support_vectors_, dual_coef_, certificate_, trace_, n_kernel_values_,
        fit_status_, shape_fit_.
        """
        trained = train(prepared.kernel, prepared.rows, dual, prepared.place, settings)
        coef = prepared.merged.spread(trained.solution.beta, prepared.box).sum(axis=0)
        support = np.flatnonzero(coef)
        if side is not None:
            support = support[np.argsort(side[support], kind="stable")]
        self._kernel = prepared.kernel
        self._gamma = getattr(prepared.kernel, "gamma", 0.0)
        self._centre = getattr(prepared.rows, "centre", None)
        self.support_ = support.astype(np.int32)
        self.dual_coef_ = coef[self.support_][None]
        precomputed = isinstance(prepared.kernel, Precomputed)
        self.support_vectors_ = np.empty((0, 0)) if precomputed else X[self.support_]
        self.certificate_ = trained.certificate
        self.trace_ = trained.solution.trace
        self.n_kernel_values_ = trained.solution.kernel_values
        self.fit_status_ = int(trained.certificate.status not in ("optimal", "approximate"))
        self.shape_fit_ = X.shape
        return trained

    def _finish(self) -> None:
        """Let an interrupt through, now that the model is complete."""
        if self.certificate_.status == "interrupted" and self.on_interrupt == "raise":
            raise KeyboardInterrupt

    # -- prediction ------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        """Sum over support vectors of coefficient times kernel value, in bounded memory."""
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            dtype=_DTYPES,
            accept_sparse=self._accept_sparse(),
            accept_large_sparse=True,
            reset=False,
        )
        threads = resolve_threads(self.n_jobs)
        if isinstance(self._kernel, Precomputed):
            left: Rows = KernelRows(X, np.arange(X.shape[0]))
            right: Rows = KernelRows(X, self.support_.astype(np.int64))
            J = np.arange(len(self.support_))
        else:
            # Sparse rows have no centre: then neither do the support vectors.
            centre = None if sparse.issparse(X) else self._centre
            left = as_rows(X, centre=centre)
            right = as_rows(self.support_vectors_, centre=centre)
            J = None
        return Gram(self._kernel, left, right, threads=threads).scan(None, J, self.dual_coef_[0])

    @property
    def coef_(self) -> Any:
        """Weights of the features, for kernel="linear" only."""
        check_is_fitted(self)
        if not isinstance(self._kernel, Linear):
            raise AttributeError("coef_ is only available when kernel='linear'")
        return self.dual_coef_ @ self.support_vectors_
