"""Training of estimators to the optimum of a dual, on all rows at once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from widestreet._src import checks
from widestreet._src.arrays import Floats
from widestreet._src.estimators import data_checks, parameter_checks
from widestreet._src.estimators.batch import BatchFit, shared_attributes
from widestreet._src.estimators.callbacks import RoundReporter
from widestreet._src.estimators.fitted import single_attributes
from widestreet._src.estimators.placing import check_device
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.estimators.starting import starting_lines
from widestreet._src.interrupts import undisturbed
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.problems.goal import Goal
from widestreet._src.reporting.observers import Observers
from widestreet._src.training.engine_sequence import train
from widestreet._src.training.problem import Problem
from widestreet._src.training.settings import Settings


class OptimalFit(BatchFit):
    """Base class of the batch estimators whose model is the optimum of a dual."""

    tol: float
    gap_tol: float | None
    shrinking: bool
    cache_size: float | None
    strategy: Any
    device: str
    warm_start: bool
    scratch: Any

    @abstractmethod
    def _formulation(self) -> DualFormulation:
        """Return the formulation of this SVM with validated parameters."""

    def _goal(self) -> Goal:
        """Return the validated tolerances."""
        gap_tol = self.gap_tol
        if gap_tol is not None:
            gap_tol = checks.require_real("gap_tol", gap_tol, above=0.0)
        return Goal(checks.require_real("tol", self.tol, above=0.0), gap_tol)

    def _settings(self) -> Settings:
        """Return the validated parameters of training."""
        check_device(self.device, self.kernel)
        checks.require_flag("warm_start", self.warm_start)
        memory = self.max_memory
        if self.cache_size is not None:
            cache = 1e6 * checks.require_real("cache_size", self.cache_size, above=0.0)
            memory = cache if memory is None else memory
        return Settings(
            **vars(self._resources(memory)),
            strategy=parameter_checks.resolve_strategy(self.strategy),
            goal=self._goal(),
            skip=checks.require_flag("shrinking", self.shrinking),
        )

    def _warm(self, lines: int, rows: int, scale: float) -> Floats | None:
        """Return the coefficients of the last fit as a starting point, or None.

        Parameters
        ----------
        lines, rows : int
            Required shape of the coefficients.
        scale : float
            Parameter that the coefficients are proportional to.
        """
        if not self.warm_start or not hasattr(self, "support_") or hasattr(self, "compaction_"):
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
        settings: Settings,
        formulation: DualFormulation,
        start: Any = None,
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
        start : object
            None or a fitted SVM to start from.

        Sets: everything that is fitted.
        """
        weight = data_checks.check_weight(given[2], X.shape[0])
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
        dual = formulation.dual(merged.of(target), merged.box)
        problem = Problem(dual)
        if start is None:
            before = self._warm(1, X.shape[0], formulation.scale)
        else:
            before = starting_lines(self, start, X, target, prepared.box, formulation)
        if before is not None:
            coef = merged.gather(before)
            layers = [coef] if dual.layers == 1 else [np.maximum(coef, 0), np.minimum(coef, 0)]
            problem = problem.starting_at(np.concatenate(layers))
        report = RoundReporter(self, *given)
        observers = Observers(settings.verbose, settings.goal.tol, report)
        with prepared, observers, observers.problem() as observe:
            trained = train(
                prepared.kernel, prepared.rows, problem, settings, observe, merged.selection
            )
        with undisturbed(swallow=self.on_interrupt == "keep"):  # the model must not be lost
            spread = merged.spread(
                trained.solution.beta, prepared.box, proportional=formulation.proportional
            )
            coef = spread.sum(axis=0, keepdims=True)
            self._adopt(
                prepared.seen,
                single_attributes(
                    coef=coef,
                    reading=formulation.read(trained.bias, settings.goal.tol),
                    scale=formulation.scale,
                    steps=trained.solution.pair_steps,
                    **shared_attributes(prepared, [trained], [int(np.count_nonzero(prepared.box))]),
                ),
            )
        self._finish(report)
