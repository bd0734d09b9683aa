"""Training of estimators on all rows at once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widestreet._src import checks
from widestreet._src.arrays import Codes, Floats
from widestreet._src.certificate import Certificate, advice
from widestreet._src.engines.budget import parse_memory
from widestreet._src.estimators import data_checks, figures, parameter_checks, placing
from widestreet._src.estimators.callbacks import CallbackSupport, RoundReporter
from widestreet._src.estimators.columns import spread_of, warn_of_scales
from widestreet._src.estimators.compaction import Compaction, compacted
from widestreet._src.estimators.model import KernelModel
from widestreet._src.kernels.kernels import Kernel, Linear, Precomputed
from widestreet._src.rows import (
    KernelRows,
    Merged,
    Rows,
    as_rows,
    merge_duplicates,
    without_empty,
)
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.status import Status
from widestreet._src.threads import resolve_threads
from widestreet._src.training.settings import Resources
from widestreet._src.training.trained import Trained


@dataclass(frozen=True, eq=False)
class Prepared:
    """Validated data: distinct rows, the box of each row, and the names of the columns.

    Leaving the context frees the memory that the rows take on a device.
    """

    kernel: Kernel
    rows: Rows
    merged: Merged
    box: Floats
    seen: dict[str, Any]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        placing.close(self.rows)


class BatchFit(CallbackSupport, KernelModel):
    """Base class of the estimators that train on all rows at once."""

    verbose: int | bool
    max_iter: int
    max_time: float | None
    on_interrupt: str

    certificate_: Certificate
    certificates_: list[Certificate]
    compaction_: Compaction

    def compact(self, tolerance: float, *, rows: Any = None, quantile: float = 1.0) -> Self:
        """Return a model with fewer support vectors and nearly the same decision values.

        The decision function is projected onto the span of a few support vectors, which are chosen
        greedily. The norm of the remainder bounds the change of decision values of any row, since
        K(x, x) = 1 for the kernels "rbf" and "laplacian". For kernel="linear" the weights of the
        features replace the support vectors, and decision values stay the same.

        Parameters
        ----------
        tolerance : float
            Largest change of decision values: of any row, or of the given rows. For more than two
            classes it is that of each pair of classes.
        rows : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Rows on which the change is measured, instead of a bound for all rows. Fewer support
            vectors suffice, and kernel="poly" is possible.
        quantile : float, default=1.0
            Part of these rows whose decision values may not change by more than `tolerance`.

        Returns
        -------
        estimator
            Another fitted estimator. Its attribute `compaction_` holds the bound or the measured
            change, and the numbers of support vectors. It has all support vectors if fewer are
            not enough, or more than half of many. The figures of the
            certificate are those of the model before, its status is "approximate".

        Examples
        --------
        >>> from widestreet import SVC
        >>> from widestreet.datasets import checkerboard
        >>> X, y = checkerboard(2000, random_state=0)
        >>> model = SVC(C=1.0, gamma=2.0).fit(X, y)
        >>> small = model.compact(0.05)
        >>> small.compaction_.bound <= 0.05
        True
        >>> len(small.support_) < len(model.support_) / 2
        True
        """
        self._check_fitted()
        tolerance = checks.require_real("tolerance", tolerance, above=0.0)
        quantile = checks.require_real("quantile", quantile, above=0.0, most=1.0)
        if rows is None and quantile < 1.0:
            raise ValueError("quantile: pass the rows on which the change is measured as rows=")
        rows = None if rows is None else self._query(rows)
        return cast(Self, compacted(self, tolerance, rows, quantile))

    def __getattr__(self, name: str) -> Any:
        """Say where the certificate of a model comes from that was trained elsewhere."""
        if hasattr(type(self), name):  # a property that raised: raise its own error again
            return object.__getattribute__(self, name)
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in ("certificate_", "certificates_") and "support_" in vars(self):
            text += ": the model was not trained here; widestreet.certify(model, X, y) computes it"
        raise AttributeError(text)

    def _resources(self, max_memory: Any) -> Resources:
        """Return the validated limits of a fit."""
        checks.require_choice("on_interrupt", self.on_interrupt, ("raise", "keep"))
        max_time = self.max_time
        if max_time is not None:
            max_time = checks.require_real("max_time", max_time, above=0.0)
        return Resources(
            max_steps=checks.require_limit("max_iter", self.max_iter),
            max_time=max_time,
            max_memory=parse_memory(max_memory),
            threads=resolve_threads(self.n_jobs),
            verbose=checks.require_level("verbose", self.verbose),
            rng=parameter_checks.resolve_rng(self.random_state),
        )

    def _prepare(
        self,
        X: Any,
        seen: dict[str, Any],
        label: Floats | Codes,
        weight: Floats,
        box: Floats,
        *,
        centred: bool,
        threads: int,
    ) -> Prepared:
        """Resolve the kernel and merge equal rows.

        Parameters
        ----------
        X : ndarray or CSR
        seen : dict
            Attributes returned by `_validated`.
        label : ndarray
            Labels or targets; only rows with equal ones are merged.
        weight : ndarray
            Sample weights, for gamma="scale".
        box : ndarray
            Width of the box of each row.
        centred : bool
            True if rows may be centred for a linear kernel.
        threads : int
        """
        mean = None
        if self.kernel == "precomputed":
            data_checks.check_kernel_matrix(X)
        elif not callable(self.kernel):
            largest, mean = figures.largest_and_mean(X, threads)
            data_checks.check_magnitude(largest)
            names = seen.get("feature_names_in_")
            warn_of_scales(spread_of(X), names, stacklevel=level_of_caller())
        gamma = self._resolved_gamma(X, weight) if parameter_checks.uses_gamma(self.kernel) else 0.0
        kernel = parameter_checks.resolve_kernel(
            self.kernel, gamma=gamma, coef0=self.coef0, degree=self.degree
        )
        data_checks.check_powers(kernel, X)
        if isinstance(kernel, Precomputed):
            rows: Rows = KernelRows(X, np.arange(X.shape[0]))
            return Prepared(kernel, rows, without_empty(box), box, seen)
        centred = kernel.translation_invariant or (isinstance(kernel, Linear) and centred)
        vectors = as_rows(X, centred=centred, mean=mean)
        alike: Any = label if label.dtype == np.int8 else np.asarray(label, dtype=np.float64)
        most = None if self.max_memory is None else parse_memory(self.max_memory)
        rows = placing.placed(vectors, kernel, getattr(self, "device", "cpu"), most)
        with placing.copying(rows, kernel, threads):
            merged = merge_duplicates(vectors, alike, box, threads)
        return Prepared(kernel, rows, merged, box, seen)

    def _resolved_gamma(self, X: Any, weight: Floats) -> float:
        """Return the value of gamma."""
        return parameter_checks.resolve_gamma(
            self.gamma, int(X.shape[1]), lambda: figures.weighted_variance(X, weight)
        )

    def _adopt(self, seen: dict[str, Any], fitted: dict[str, Any]) -> None:
        """Set the fitted attributes in one assignment.

        No attribute is set before training has succeeded: a failed refit leaves the old model.

        Sets: all fitted attributes.
        """
        gone = ("feature_names_in_", "compaction_")  # of an earlier fit
        kept = {name: value for name, value in vars(self).items() if name not in gone}
        self.__dict__ = kept | fitted | seen  # one assignment: an interrupt cannot split it

    def _finish(self, report: RoundReporter) -> None:
        """Report the end, warn if the model is not optimal, and re-raise an interrupt."""
        report.finish()
        message = advice(self.certificates_)
        if message is not None:
            warnings.warn(message, ConvergenceWarning, stacklevel=level_of_caller())
        stopped = any(c.status == Status.INTERRUPTED for c in self.certificates_)
        if stopped and self.on_interrupt == "raise":
            raise KeyboardInterrupt


def shared_attributes(
    prepared: Prepared, trained: list[Trained], n_rows: list[int]
) -> dict[str, Any]:
    """Return the arguments of `fitted_attributes` that all batch estimators share.

    `n_rows` is the number of rows of each problem before equal rows were merged.
    """
    rows = prepared.rows
    return {
        "kernel": prepared.kernel,
        "X": rows.data,
        "centre": getattr(rows, "centre", None),
        "index": None,
        "records": (record for one in trained for record in one.solution.trace),
        "kernel_values": sum(one.solution.kernel_values for one in trained),
        "certificates": [
            replace(one.certificate, n_rows=n if one.certificate.n_rows else 0)
            for one, n in zip(trained, n_rows, strict=True)
        ],
    }
