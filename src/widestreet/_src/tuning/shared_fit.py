"""An estimator whose fits were done before, for scikit-learn's search.

scikit-learn's `GridSearchCV` computes scores, ranks and `cv_results_`. Instead of rows it is given
their numbers, and instead of the estimator a `SharedFit`: its fit looks up the model of the next
candidate in the fold, which predicts from stored scores. Its refit does nothing: the search fits
the estimator after scikit-learn has chosen the best candidate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._src.arrays import Ints
from widestreet._src.tuning.plan import Plan


class NotEvaluatedError(RuntimeError):
    """Raised by the fit of a candidate for which there was no time."""


class Results:
    """Models of a plan, in the order in which a search asks for them.

    Parameters
    ----------
    plan : Plan
    estimator : object
        Estimator of the search.
    numbers : ndarray
        Row numbers of all rows: the refit passes this object itself, and needs no model.
    """

    def __init__(self, plan: Plan, estimator: Any, numbers: Ints) -> None:
        self.plan, self.estimator, self.numbers = plan, estimator, numbers
        self._fold = {train.tobytes(): f for f, (train, _) in enumerate(plan.splits)}
        self._asked = [0] * len(plan.splits)

    def next_model(self, train: Ints) -> Any:
        """Return the model of the next candidate in the fold with these training rows.

        Sets: the number of candidates asked for.
        """
        fold = self._fold[train.tobytes()]
        candidate = self._asked[fold]
        self._asked[fold] += 1
        found = self.plan.found.get((candidate, fold))
        if found is None:
            raise NotEvaluatedError("the search was stopped before this candidate was evaluated")
        if isinstance(found, Exception):
            raise found
        return found


class SharedFit:
    """Estimator whose fits look up models.

    Parameters
    ----------
    results : Results
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self.model: Any = None

    def __sklearn_clone__(self) -> SharedFit:
        return SharedFit(self.results)

    def __sklearn_tags__(self) -> Any:
        tags = self.results.estimator.__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags

    def __getattr__(self, name: str) -> Any:
        if name in ("results", "model"):
            raise AttributeError(name)
        return getattr(self.results.estimator if self.model is None else self.model, name)

    def set_params(self, **parameters: Any) -> SharedFit:
        """Do nothing: candidates are asked for in their order."""
        return self

    def fit(self, X: Any, y: Any = None, **options: Any) -> SharedFit:
        """Look up the model of the next candidate in a fold."""
        if X is not self.results.numbers:
            self.model = self.results.next_model(np.asarray(X))
        return self
