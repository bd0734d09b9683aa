"""Training of classifiers to the optimum, on all rows at once."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from widestreet._src import checks
from widestreet._src.arrays import Codes, Floats
from widestreet._src.estimators import parameter_checks
from widestreet._src.estimators.batch import Prepared
from widestreet._src.estimators.batch_classifier import BatchClassifier, ClassTraining
from widestreet._src.estimators.callbacks import with_callbacks
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.starting import check_start, starting_lines
from widestreet._src.estimators.stored import fit_stored
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.reporting.observers import Observers
from widestreet._src.training.classification import train_classes
from widestreet._src.training.settings import Settings
from widestreet._src.training.trained import Trained


class OptimalClassifier(OptimalFit, BatchClassifier):
    """Base class of the classifiers whose model is the optimum of a dual."""

    break_ties: bool

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, start: Any = None) -> Self:
        """Train on rows X with labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or from `open_rows`
            Training rows, or the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A weight of two has the effect of a repeated row, a weight of zero
            that of a missing row.
        start : estimator, default=None
            Fitted model of the same kind, of this package or of scikit-learn, from whose solution
            training starts. Its support vectors must be among the rows; its parameters may differ.
            The result does not depend on it.

        Returns
        -------
        estimator
            The fitted estimator itself.
        """
        return self._fit(X, y, sample_weight, start)

    def _training(self, start: Any) -> ClassTraining:
        checks.require_flag("break_ties", self.break_ties)
        settings, formulation = self._settings(), self._formulation()
        check_start(self, start)

        def stored(given: tuple[Any, Any, Any]) -> None:
            check_start(self, start, stored=True)
            fit_stored(self, given, settings, formulation, labels=True)

        train = partial(self._train, settings, formulation, start)
        return ClassTraining(formulation, settings, train, stored)

    def _breaks_ties(self) -> bool:
        return parameter_checks.breaks_ties(self.break_ties, self.decision_function_shape)

    def _train(
        self,
        settings: Settings,
        formulation: DualFormulation,
        start: Any,
        prepared: Prepared,
        code: Codes,
        observers: Observers,
    ) -> tuple[Floats, list[Trained], dict[str, Any]]:
        """Train the problems of all pairs of classes, as `ClassTraining` requires."""
        layout, merged = PairLayout(int(np.max(code)) + 1), prepared.merged
        if start is not None:
            X, box = prepared.rows.data, prepared.box
            before: Any = starting_lines(self, start, X, code, box, formulation)
        else:
            before = self._warm(layout.lines, prepared.rows.shape[0], formulation.scale)
            if before is not None:
                before = before * layout.by_line_and_class(self._rho)[:, code]
        lines, trained = train_classes(
            prepared.kernel,
            prepared.rows,
            merged,
            merged.of(code),
            formulation,
            settings,
            observers,
            None if before is None else merged.gather(before),
        )
        spread = merged.spread(lines, prepared.box, proportional=formulation.proportional)
        return spread, trained, {}
