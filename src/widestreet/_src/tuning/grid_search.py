"""Grid search with scikit-learn's interface and shared work."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
import sklearn.model_selection
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import indexable

from widestreet._src import checks
from widestreet._src.engines.budget import Budget, OutOfBudget, parse_memory
from widestreet._src.estimators import reported
from widestreet._src.reporting.bar import progress_bar
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.threads import resolve_threads
from widestreet._src.tuning.plan import CannotShare, Machine, Plan, Split
from widestreet._src.tuning.shared_fit import Results, SharedFit

_RESULTS = (
    "cv_results_", "best_index_", "best_score_", "best_params_", "refit_time_", "n_splits_",
    "multimetric_", "scorer_",
)  # fmt: skip


class GridSearchCV(sklearn.model_selection.GridSearchCV):  # type: ignore[misc]
    """Search over parameters by cross-validation; candidates and folds share work.

    Parameters, attributes and results are those of
    :class:`sklearn.model_selection.GridSearchCV`. Work is shared if the estimator is `SVC`,
    `NuSVC`, `SVR`, `NuSVR` or `OneClassSVM`, or a pipeline with one of them as its last step.
    Otherwise, and for parameters or scorers that cannot be shared, scikit-learn's own search is
    used, and a warning names each of `max_time`, `max_memory`, `progress` and `on_interrupt` that
    is set and has no effect.

    Grid points are solved to `tol` by the check of the engine. The refit has a certificate.

    Parameters
    ----------
    estimator : estimator
    param_grid : dict or list of dict
        Parameters and their values.
    scoring : str, callable, list, tuple or dict, default=None
        As in scikit-learn.
    n_jobs : int, default=None
        Number of threads; None is that of the estimator.
    refit : bool, str or callable, default=True
        As in scikit-learn.
    cv : int, splitter or iterable, default=None
        As in scikit-learn.
    verbose : int, default=0
        As in scikit-learn.
    pre_dispatch : int or str, default="2*n_jobs"
        Used by scikit-learn's own search only.
    error_score : "raise" or number, default=nan
        As in scikit-learn.
    return_train_score : bool, default=False
        As in scikit-learn.
    max_time : float, default=None
        Seconds after which the search ends; the refit is not limited. Candidates are evaluated in
        four parts, each in all folds before the next. Those that are not complete have the score
        nan, and the best of the others is refitted. TimeoutError is raised if there is none. A
        search with a limit shares less work, and takes longer if the limit is not reached.
    max_memory : int, float or str, default=None
        Memory limit of the search, in bytes or as text such as "2GB"; None is that of the
        estimator.
    progress : bool, default=False
        Whether a progress bar is shown.
    on_interrupt : {"raise", "keep"}, default="raise"
        Action after Ctrl-C during the search: "raise" raises KeyboardInterrupt, "keep" does not.
        The best candidate so far is refitted in both cases.

    Attributes
    ----------
    cv_results_ : dict
        Those of scikit-learn, and "mean_kkt_violation", the violation at which the candidates were
        solved. Fit times are those of the solution of the problem, without work that is shared.
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, \
multimetric_, classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    shared_ : bool
        Whether candidates and folds shared work.
    stopped_ : {"max_time", "interrupt"} or None
        Why the search ended before all candidates were evaluated, if it did.

    Examples
    --------
    >>> from widestreet import SVC
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.model_selection import GridSearchCV
    >>> X, y = checkerboard(500, random_state=0)
    >>> search = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": [0.2, 2.0, 20.0]}).fit(X, y)
    >>> search.best_params_
    {'C': 100, 'gamma': 2.0}
    >>> search.best_estimator_.certificate_.status
    'optimal'
    """

    cv: Any

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        max_time: float | None = None,
        max_memory: int | float | str | None = None,
        progress: bool = False,
        on_interrupt: str = "raise",
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.max_time = max_time
        self.max_memory = max_memory
        self.progress = progress
        self.on_interrupt = on_interrupt

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Evaluate all candidates in all folds, then fit the best one on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        **params
            Parameters of the fit, of the scorer and of the splitter, such as `sample_weight` and
            `groups`, as in scikit-learn.

        Returns
        -------
        GridSearchCV
            The fitted search itself.
        """
        if self.max_time is not None:
            checks.require_real("max_time", self.max_time, above=0.0)
        if self.max_memory is not None:
            parse_memory(self.max_memory)
        checks.require_choice("on_interrupt", self.on_interrupt, ("raise", "keep"))
        self._validate_params()
        self.stopped_: str | None = None
        cv = list(self.cv) if isinstance(self.cv, Iterator) else self.cv
        stop: BaseException | None = None
        try:
            with progress_bar("grid search", shown=self.progress) as tell:
                plan = self._plan(X, y, cv, params)
                plan.tell = tell
                try:
                    plan.run()
                except (OutOfBudget, KeyboardInterrupt) as why:
                    stop = why
        except (CannotShare, TypeError, ValueError) as reason:
            return self._fit_unshared(X, y, cv, params, reason)
        self.shared_ = True
        self._adopt(plan, stop, params)
        if isinstance(stop, KeyboardInterrupt) and self.on_interrupt == "raise":
            raise stop
        return self

    report = reported.report

    def _fit_unshared(
        self, X: Any, y: Any, cv: Any, params: dict[str, Any], reason: Exception
    ) -> Self:
        """Run scikit-learn's own search, which raises its own errors. Sets: what it sets."""
        self.shared_ = False
        unused = {
            "max_time": self.max_time is not None,
            "max_memory": self.max_memory is not None,
            "progress": self.progress,
            "on_interrupt": self.on_interrupt == "keep",
        }
        for name in (name for name, given in unused.items() if given):
            warnings.warn(
                f"{name} has no effect: scikit-learn's own search is used, because {reason}",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        given, self.cv = self.cv, cv
        try:
            super().fit(X, y, **params)
        finally:
            self.cv = given
        return self

    def _plan(self, X: Any, y: Any, cv: Any, params: dict[str, Any]) -> Plan:
        """Return the plan of the search; raise CannotShare if work cannot be shared."""
        if getattr(self, "_skl_callbacks", None):
            raise CannotShare("the search has callbacks")
        if not _is_known(self.scoring):
            raise CannotShare("scoring is a plain function")
        machine = Machine.of(self.estimator)
        if self.return_train_score and machine.transformers is not None:
            raise CannotShare("training rows of a pipeline are transformed anew to be scored")
        weight = params.get(f"{machine.prefix}sample_weight")
        others = {name for name, value in params.items() if value is not None}
        others -= {f"{machine.prefix}sample_weight", "groups"}
        if others or (params and get_config()["enable_metadata_routing"]):
            raise CannotShare("parameters of the fit are routed by scikit-learn")
        X, y, weight = indexable(X, y, weight)
        candidates = list(ParameterGrid(self.param_grid))
        for one in candidates:
            machine.of_transformers(one)
        settings = machine.estimator._settings()
        if self.n_jobs is not None:
            settings = replace(settings, threads=resolve_threads(self.n_jobs))
        if self.max_memory is not None:
            settings = replace(settings, max_memory=parse_memory(self.max_memory))
        return Plan(
            machine=machine,
            X=X,
            y=y,
            sample_weight=weight,
            candidates=candidates,
            splits=self._splits(X, y, cv, params.get("groups")),
            every_row=self.return_train_score,
            budget=Budget(self.max_time),
            settings=settings,
        )

    def _splits(self, X: Any, y: Any, cv: Any, groups: Any) -> list[Split]:
        """Return the folds; raise CannotShare if training sets do not tell them apart."""
        cv = check_cv(cv, y, classifier=is_classifier(self.estimator))
        splits = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(X, y, groups)]
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        for part in (part for split in splits for part in split):
            if part.dtype.kind not in "iu" or len(part) == 0 or part.min() < 0 or part.max() >= n:
                raise CannotShare("cv gives other values than row numbers")
        if len({train.tobytes() for train, _ in splits}) < len(splits):
            raise CannotShare("two folds have the same training rows")
        return [(a.astype(np.int64), b.astype(np.int64)) for a, b in splits]

    def _adopt(self, plan: Plan, stop: BaseException | None, params: dict[str, Any]) -> None:
        """Compute scores and ranks by scikit-learn's search, and refit. Sets: fitted attributes."""
        done = sum(plan.complete)
        if done == 0 and stop is not None:
            if isinstance(stop, KeyboardInterrupt):
                raise stop
            raise TimeoutError(f"max_time={self.max_time} was too short for a single candidate")
        figures = {
            "mean_fit_time": plan.seconds.mean(axis=1),
            "std_fit_time": plan.seconds.std(axis=1),
            "mean_kkt_violation": plan.violation.mean(axis=1),
        }
        choose = (lambda results: self.refit(results | figures)) if callable(self.refit) else None
        numbers = np.arange(plan.X.shape[0] if hasattr(plan.X, "shape") else len(plan.X))
        inner = sklearn.model_selection.GridSearchCV(
            SharedFit(Results(plan, self.estimator, numbers)),
            self.param_grid,
            scoring=self.scoring,
            n_jobs=1,
            refit=choose or self.refit,
            cv=plan.splits,
            verbose=self.verbose,
            error_score=self.error_score if stop is None else np.nan,
            return_train_score=self.return_train_score,
        )
        with warnings.catch_warnings():
            if stop is not None:
                warnings.simplefilter("ignore", FitFailedWarning)
                warnings.filterwarnings("ignore", "One or more of the (test|train) scores")
            inner.fit(numbers, plan.y, **{k: v for k, v in params.items() if k != "groups"})
        for name in _RESULTS:
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        if self.scoring is None:
            self.scorer_ = check_scoring(self.estimator)
        self.cv_results_ |= figures
        if self.refit:
            self.best_estimator_ = inner.best_estimator_.model
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        if stop is not None:
            ctrl_c = isinstance(stop, KeyboardInterrupt)
            self.stopped_ = "interrupt" if ctrl_c else "max_time"
            why = "Ctrl-C" if ctrl_c else f"max_time={self.max_time}"
            warnings.warn(
                f"{why} ended the search after {done} of {len(plan.candidates)} candidates; the "
                "others have the score nan",
                UserWarning,
                stacklevel=level_of_caller(),
            )


def _is_known(scoring: Any) -> bool:
    """Return whether scorers call nothing but the methods of an estimator."""
    if isinstance(scoring, dict):
        return all(_is_known(one) for one in scoring.values())
    if isinstance(scoring, list | tuple | set):
        return all(isinstance(one, str) for one in scoring)
    return scoring is None or isinstance(scoring, str) or hasattr(scoring, "_score_func")
