"""An estimator whose fits were done before, for scikit-learn's search.

scikit-learn's `GridSearchCV` computes scores, ranks and `cv_results_`. Instead of rows it is given
their numbers, and instead of the estimator a `SharedFit`: its fit looks up the model of the next
candidate in the fold, which predicts from stored scores. Its refit does nothing: the search fits
the estimator after scikit-learn has chosen the best candidate.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import sklearn.model_selection
from sklearn.exceptions import FitFailedWarning

from widestreet._src.arrays import Floats, Ints
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

    @property
    def asked(self) -> int:
        """Number of candidates that were asked for in a fold: the last of them is being scored."""
        return max(self._asked)

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


def scored(
    plan: Plan,
    estimator: Any,
    options: dict[str, Any],
    params: dict[str, Any],
    *,
    missing: bool,
) -> Any:
    """Return scikit-learn's search over the models of a plan, without the refit.

    Parameters
    ----------
    plan : Plan
    estimator : object
        Estimator of the search.
    options : dict
        Parameters of the search: scoring, refit, verbose, error_score, return_train_score.
    params : dict
        Parameters of the fit of the search; sample weights are those of the plan.
    missing : bool
        Whether some candidates were not evaluated, of which nothing is said.

    Sets: plan.found, after Ctrl-C: candidates that were not scored in all folds are left out.
    """
    numbers = np.arange(plan.X.shape[0] if hasattr(plan.X, "shape") else len(plan.X))
    results = Results(plan, estimator, numbers)
    inner = sklearn.model_selection.GridSearchCV(
        SharedFit(results),
        [{name: [value] for name, value in one.items()} for one in plan.candidates],
        n_jobs=1,
        cv=plan.splits,
        **options,
    )
    name = f"{plan.machine.prefix}sample_weight"
    weights = {} if params.get(name) is None else {name: plan.sample_weight}
    with warnings.catch_warnings():
        if missing:
            warnings.simplefilter("ignore", FitFailedWarning)
            warnings.filterwarnings("ignore", "One or more of the (test|train) scores")
        try:
            return inner.fit(numbers, plan.y, **weights)
        except KeyboardInterrupt:
            last = results.asked - 1
            plan.found = {at: found for at, found in plan.found.items() if at[0] < last}
            raise


def fold_scores(
    estimator: Any, scoring: Any, metric: str, params: dict[str, Any], plan: Plan
) -> Floats:
    """Return the scores of a plan by one metric, of shape (candidates, folds); nan if a fit failed.

    scikit-learn would raise an error if all fits failed.
    """
    if all(isinstance(found, Exception) for found in plan.found.values()):
        return np.full((len(plan.candidates), len(plan.splits)), np.nan)
    options = {"scoring": scoring, "refit": False, "error_score": np.nan}
    found = scored(plan, estimator, options, params, missing=True).cv_results_
    return np.stack([found[f"split{f}_test_{metric}"] for f in range(len(plan.splits))], axis=1)


def is_known(scoring: Any) -> bool:
    """Return whether scorers call nothing but the methods of an estimator."""
    if isinstance(scoring, dict):
        return all(is_known(one) for one in scoring.values())
    if isinstance(scoring, list | tuple | set):
        return all(isinstance(one, str) for one in scoring)
    return scoring is None or isinstance(scoring, str) or hasattr(scoring, "_score_func")
