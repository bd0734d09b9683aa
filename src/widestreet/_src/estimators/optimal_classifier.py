"""Training of classifiers to the optimum, on all rows at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from widestreet._src import checks
from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators import validation
from widestreet._src.estimators.batch import Prepared
from widestreet._src.estimators.batch_classifier import BatchClassifier, ClassTraining
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.stored import fit_stored
from widestreet._src.problems.formulations import DualFormulation
from widestreet._src.problems.pairs import PairLayout
from widestreet._src.reporting.observers import Observers
from widestreet._src.training.classification import train_classes
from widestreet._src.training.outcome import Trained
from widestreet._src.training.settings import Settings


class OptimalClassifier(OptimalFit, BatchClassifier):
    """Base class of the classifiers whose model is the optimum of a dual."""

    break_ties: bool

    def _training(self) -> ClassTraining:
        checks.require_flag("break_ties", self.break_ties)
        settings, formulation = self._settings(), self._formulation()
        return ClassTraining(
            formulation,
            settings,
            partial(self._train, settings, formulation),
            lambda given: fit_stored(self, given, settings, formulation, labels=True),
        )

    def _breaks_ties(self) -> bool:
        return validation.breaks_ties(self.break_ties, self.decision_function_shape)

    def _train(
        self,
        settings: Settings,
        formulation: DualFormulation,
        prepared: Prepared,
        code: Ints,
        observers: Observers,
    ) -> tuple[Floats, list[Trained], dict[str, Any]]:
        """Train the problems of all pairs of classes, as `ClassTraining` requires."""
        layout, merged = PairLayout(int(np.max(code)) + 1), prepared.merged
        start = self._warm(layout.lines, prepared.rows.shape[0], formulation.scale)
        if start is not None:
            start = merged.gather(start * layout.by_line_and_class(self._rho)[:, code])
        lines, trained = train_classes(
            prepared.kernel,
            prepared.rows,
            merged,
            code[merged.kept],
            formulation,
            settings,
            observers,
            start,
        )
        spread = merged.spread(lines, prepared.box, proportional=formulation.proportional)
        return spread, trained, {}
