"""Training of estimators on all rows at once."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widestreet._src import checks
from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import Certificate, advice
from widestreet._src.engines.budget import parse_memory
from widestreet._src.estimators import validation
from widestreet._src.estimators.callbacks import CallbackSupport, RoundReporter
from widestreet._src.estimators.columns import warn_of_scales
from widestreet._src.estimators.fitted import single_attributes
from widestreet._src.estimators.model import KernelModel, dense_coef
from widestreet._src.interrupts import undisturbed
from widestreet._src.kernels.kernels import Kernel, Linear, Precomputed
from widestreet._src.problems.formulations import DualFormulation, Formulation
from widestreet._src.problems.goal import Goal
from widestreet._src.reporting.observers import Observers
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
from widestreet._src.training.outcome import Trained
from widestreet._src.training.problem import Problem
from widestreet._src.training.settings import Resources, Settings
from widestreet._src.training.solver import train


@dataclass(frozen=True, eq=False)
class Prepared:
    """Validated data: distinct rows, the box of each row, and the names of the columns."""

    kernel: Kernel
    rows: Rows
    merged: Merged
    box: Floats
    seen: dict[str, Any]


class BatchFit(CallbackSupport, KernelModel):
    """Base class of the estimators that train on all rows at once."""

    gap_tol: float | None
    shrinking: bool
    cache_size: float | None
    verbose: int | bool
    max_iter: int
    strategy: Any
    max_time: float | None
    device: str
    on_interrupt: str
    warm_start: bool

    certificate_: Certificate
    certificates_: list[Certificate]

    @abstractmethod
    def _formulation(self) -> Formulation:
        """Return the formulation of this SVM with validated parameters."""

    def _goal(self) -> Goal:
        """Return how exact the solution is to be."""
        gap_tol = self.gap_tol
        if gap_tol is not None:
            gap_tol = checks.require_real("gap_tol", gap_tol, above=0.0)
        return Goal(checks.require_real("tol", self.tol, above=0.0), gap_tol)

    def _settings(self) -> Resources:
        """Return the validated parameters of training."""
        if not (isinstance(self.device, str) and self.device == "cpu"):
            raise ValueError(
                f"device={self.device!r} is not available: widestreet trains on the CPU; set "
                "device='cpu'"
            )
        checks.require_choice("on_interrupt", self.on_interrupt, ("raise", "keep"))
        checks.require_flag("warm_start", self.warm_start)
        max_time = self.max_time
        if max_time is not None:
            max_time = checks.require_real("max_time", max_time, above=0.0)
        memory = self.max_memory
        if self.cache_size is not None:
            cache = 1e6 * checks.require_real("cache_size", self.cache_size, above=0.0)
            memory = cache if memory is None else memory
        return Settings(
            strategy=validation.resolve_strategy(self.strategy),
            goal=self._goal(),
            max_steps=checks.require_limit("max_iter", self.max_iter),
            max_time=max_time,
            max_memory=parse_memory(memory),
            threads=resolve_threads(self.n_jobs),
            verbose=checks.require_level("verbose", self.verbose),
            skip=checks.require_flag("shrinking", self.shrinking),
            rng=validation.resolve_rng(self.random_state),
        )

    def _prepare(
        self,
        X: Any,
        seen: dict[str, Any],
        label: Floats | Ints,
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
        if self.kernel == "precomputed":
            validation.check_kernel_matrix(X)
        elif not callable(self.kernel):
            validation.check_magnitude(X)
            warn_of_scales(X, seen.get("feature_names_in_"), stacklevel=level_of_caller())
        gamma = self._resolved_gamma(X, weight) if validation.uses_gamma(self.kernel) else 0.0
        kernel = validation.resolve_kernel(
            self.kernel, gamma=gamma, coef0=self.coef0, degree=self.degree
        )
        validation.check_powers(kernel, X)
        if isinstance(kernel, Precomputed):
            rows: Rows = KernelRows(X, np.arange(X.shape[0]))
            return Prepared(kernel, rows, without_empty(box), box, seen)
        centred = kernel.translation_invariant or (isinstance(kernel, Linear) and centred)
        vectors = as_rows(X, centred=centred)
        merged = merge_duplicates(vectors, np.asarray(label, dtype=np.float64), box, threads)
        return Prepared(kernel, vectors, merged, box, seen)

    def _resolved_gamma(self, X: Any, weight: Floats) -> float:
        """Return the value of gamma."""
        return validation.resolve_gamma(self.gamma, X, weight)

    def _warm(self, lines: int, rows: int, scale: float) -> Floats | None:
        """Return the coefficients of the last fit as a starting point, or None.

        Parameters
        ----------
        lines, rows : int
            Required shape of the coefficients.
        scale : float
            Parameter that the coefficients are proportional to.
        """
        if not self.warm_start or not hasattr(self, "support_"):
            return None
        coef = dense_coef(self.dual_coef_)
        if len(coef) != lines or self.shape_fit_[0] != rows:
            return None
        before = np.zeros((lines, rows))
        before[:, self.support_] = coef * (scale / self._scale)
        return before

    def _fit_one_problem(
        self,
        given: tuple[Any, Any, Any],
        X: Any,
        seen: dict[str, Any],
        target: Floats,
        settings: Resources,
        formulation: Formulation,
    ) -> None:
        """Train the single problem of a regressor or a one-class SVM.

        Parameters
        ----------
        given : tuple
            X, y and sample_weight as the user passed them.
        X : ndarray or CSR
            Validated rows.
        seen : dict
            Attributes returned by `_validated`.
        target : ndarray
        settings : Settings
        formulation : DualFormulation

        Sets: everything that is fitted.
        """
        assert isinstance(settings, Settings)
        assert isinstance(formulation, DualFormulation)
        weight = validation.check_weight(given[2], X.shape[0])
        prepared = self._prepare(
            X,
            seen,
            target,
            weight,
            formulation.box(weight),
            centred=formulation.coefficients_sum_to_zero,
            threads=settings.threads,
        )
        merged = prepared.merged
        dual = formulation.dual(target[merged.kept], merged.box)
        problem = Problem(dual)
        before = self._warm(1, X.shape[0], formulation.scale)
        if before is not None:
            coef = merged.gather(before)
            layers = [coef] if dual.layers == 1 else [np.maximum(coef, 0), np.minimum(coef, 0)]
            problem = problem.starting_at(np.concatenate(layers))
        report = RoundReporter(self, *given)
        observers = Observers(settings.verbose, settings.goal.tol, report)
        with observers, observers.problem() as observe:
            trained = train(
                prepared.kernel, prepared.rows, problem, settings, observe, merged.selection
            )
        with undisturbed(swallow=self.on_interrupt == "keep"):  # the model must not be lost
            spread = merged.spread(
                trained.solution.beta, prepared.box, proportional=formulation.proportional
            )
            coef = spread.sum(axis=0, keepdims=True)
            self._adopt(
                prepared,
                single_attributes(
                    coef=coef,
                    reading=formulation.read(trained.bias, settings.goal.tol),
                    scale=formulation.scale,
                    steps=trained.solution.pair_steps,
                    **shared_attributes(prepared, [trained], [int(np.count_nonzero(prepared.box))]),
                ),
            )
        self._finish(report)

    def _adopt(self, prepared: Prepared, fitted: dict[str, Any]) -> None:
        """Set the fitted attributes in one assignment.

        No attribute is set before training has succeeded: a failed refit leaves the old model.

        Sets: all fitted attributes.
        """
        kept = {name: value for name, value in vars(self).items() if name != "feature_names_in_"}
        self.__dict__ = (
            kept | fitted | prepared.seen
        )  # one assignment: an interrupt cannot split it

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
