"""Grid search with scikit-learn's interface and shared work."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import sklearn.model_selection
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import get_tags, indexable

from widestreet._src import checks
from widestreet._src.engines.budget import Budget, OutOfBudget, parse_memory
from widestreet._src.estimators import reported
from widestreet._src.estimators.registry import trust
from widestreet._src.reporting.bar import progress_bar
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.threads import resolve_threads
from widestreet._src.tuning.plan import CannotShare, Machine, Plan, Split
from widestreet._src.tuning.rounds import Rounds
from widestreet._src.tuning.shared_fit import fold_scores, is_known, scored

REFIT_SHARE = 0.25  # of max_time, kept for the fit of the best candidate on all rows
_RESULTS = (
    "cv_results_", "best_index_", "best_score_", "best_params_", "n_splits_", "multimetric_",
    "scorer_",
)  # fmt: skip


def time_of_refit(whole: Budget) -> float | None:
    """Return the seconds for the refit: what a search has left, and at least the share kept.

    A search ends late by the time of its last scores, which with a short limit may be all of it.
    """
    left = whole.part().max_time
    return None if left is None else max(left, REFIT_SHARE * (whole.max_time or 0.0))


class GridSearchCV(sklearn.model_selection.GridSearchCV):  # type: ignore[misc]
    """Search over parameters by cross-validation; candidates and folds share work.

    Parameters, attributes and results are those of
    :class:`sklearn.model_selection.GridSearchCV`. Work is shared if the estimator is `SVC`,
    `NuSVC`, `SVR`, `NuSVR` or `OneClassSVM`, or a pipeline with one of them as its last step.
    Otherwise, and for parameters or scorers that cannot be shared, scikit-learn's own search is
    used, and a warning names each of the parameters from `max_time` on that is set and has no
    effect.

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
        Seconds for the search and the refit. The search ends after three quarters of them, or
        after all if there is no refit, whose SVM has the rest as its `max_time`, and at least a
        quarter of all. If the last scores end late, the refit ends late by the same time.
        Candidates are evaluated in four parts, each in all folds before the next. Those that are
        not complete have the score nan, and the best of the others is refitted. TimeoutError is
        raised if there is none. A search with a limit shares less work, and takes longer if the
        limit is not reached.
    max_memory : int, float or str, default=None
        Memory limit of the search, in bytes or as text such as "2GB"; None is that of the
        estimator.
    progress : bool, default=False
        Whether a progress bar is shown.
    on_interrupt : {"raise", "keep"}, default="raise"
        Action after Ctrl-C: "raise" raises KeyboardInterrupt without a refit. "keep" refits the
        best candidate so far; during the refit it keeps the best model so far. The results of the
        search, such as `cv_results_` and `best_params_`, are kept in both cases.
    racing : bool, default=False
        If True, candidates whose scores in the first folds (three, or more until they have 30 test
        rows), and again in further ones, are worse than those of the best candidate by a t-test
        are not evaluated in the other folds.
    halving : int, default=None
        Factor q, for example 3: candidates are first compared on a few rows, the best 1/q of them
        on q times as many, and so on; those that are left on all rows. Weights are multiplied, so
        that C means the same on few rows. None evaluates all candidates on all rows.

    Attributes
    ----------
    cv_results_ : dict
        Those of scikit-learn, and "mean_kkt_violation", the violation at which the candidates were
        solved. Fit times are those of the solution of the problem, without work that is shared.
        With `racing` or `halving` also "dropped", whether a candidate was dropped, "n_rows" and
        "n_folds", on how many rows and in how many folds it was evaluated last, and "last_score",
        its mean score there. The other scores of dropped candidates are nan.
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, \
multimetric_, classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    shared_ : bool
        Whether candidates and folds shared work.
    stopped_ : {"max_time", "interrupt"} or None
        Why the search ended before all candidates were evaluated and the best one was refitted, if
        it did. After "interrupt" with on_interrupt="raise" there is no `best_estimator_`.

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

    shared_: bool
    stopped_: str | None

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
        racing: bool = False,
        halving: int | None = None,
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
        self.racing = racing
        self.halving = halving

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
        checks.require_flag("racing", self.racing)
        if self.halving is not None:
            checks.require_integer("halving", self.halving, least=2, none="None")
        if self.racing or self.halving is not None:
            self._metric()
        self._validate_params()
        whole = Budget(self.max_time)
        cv = list(self.cv) if isinstance(self.cv, Iterator) else self.cv
        reason = ""
        try:  # what can be shared is decided here; errors of the run are raised
            plan = self._plan(X, y, cv, params)
        except (CannotShare, TypeError, ValueError) as why:
            reason = str(why) or type(why).__name__
        if reason:  # outside of the handler: errors of scikit-learn are not caused by the reason
            return self._fit_unshared(X, y, cv, params, reason)
        rounds = self._rounds(plan, params)
        stop: BaseException | None = None
        with progress_bar("grid search", shown=self.progress) as plan.tell:
            try:
                (rounds or plan).run()
            except (OutOfBudget, KeyboardInterrupt) as why:
                stop = why.with_traceback(None)  # its frames would keep the memory of the search
        self._adopt(plan, rounds, stop, params)
        if self.stopped_ == "interrupt" and self.on_interrupt == "raise":
            raise KeyboardInterrupt
        if self.refit:
            self._refit(plan, params, time_of_refit(whole))
        return self

    report = reported.report

    def _fit_unshared(self, X: Any, y: Any, cv: Any, params: dict[str, Any], reason: str) -> Self:
        """Run scikit-learn's own search, which raises its own errors. Sets: what it sets."""
        self.shared_, self.stopped_ = False, None
        unused = {
            "max_time": self.max_time is not None,
            "max_memory": self.max_memory is not None,
            "progress": self.progress,
            "on_interrupt": self.on_interrupt == "keep",
            "racing": self.racing,
            "halving": self.halving is not None,
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
        if not is_known(self.scoring):
            raise CannotShare("scoring is a plain function")
        machine = Machine.of(self.estimator)
        if self.return_train_score and machine.transformers is not None:
            raise CannotShare("training rows of a pipeline are transformed anew to be scored")
        weight = params.get(f"{machine.prefix}sample_weight")
        others = {name for name, value in params.items() if value is not None}
        others -= {f"{machine.prefix}sample_weight", "groups"}
        if others or (params and get_config()["enable_metadata_routing"]):
            raise CannotShare("parameters of the fit are routed by scikit-learn")
        if get_tags(self.estimator).input_tags.pairwise and not hasattr(X, "shape"):
            raise CannotShare("kernel values are no array")
        X, y, weight = indexable(X, y, weight)
        candidates = list(ParameterGrid(self.param_grid))
        for one in {frozenset(one): one for one in candidates}.values():
            clone(self.estimator).set_params(**clone(one, safe=False))  # refuses unknown names
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
            budget=Budget(self._time_of_search()),
            settings=settings,
        )

    def _time_of_search(self) -> float | None:
        """Return the limit on the time of the search, without the refit."""
        if self.max_time is None or not self.refit:
            return self.max_time
        return (1.0 - REFIT_SHARE) * self.max_time

    def _splits(self, X: Any, y: Any, cv: Any, groups: Any) -> list[Split]:
        """Return the folds; raise CannotShare if training sets do not tell them apart."""
        cv = check_cv(cv, y, classifier=is_classifier(self.estimator))
        splits = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(X, y, groups)]
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if not splits:
            raise CannotShare("cv has no folds")
        for part in (part for split in splits for part in split):
            if part.dtype.kind not in "iu" or len(part) == 0 or part.min() < 0 or part.max() >= n:
                raise CannotShare("cv gives other values than row numbers")
        if len({train.tobytes() for train, _ in splits}) < len(splits):
            raise CannotShare("two folds have the same training rows")
        return [(a.astype(np.int64), b.astype(np.int64)) for a, b in splits]

    def _metric(self) -> str:
        """Return the name of the score by which candidates are compared in rounds."""
        one = self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)
        if not one and not isinstance(self.refit, str):
            raise ValueError(
                "racing and halving compare candidates by one score: pass one scorer, or the name "
                "of a metric as refit"
            )
        return "score" if one else str(self.refit)

    def _rounds(self, plan: Plan, params: dict[str, Any]) -> Rounds | None:
        """Return the rounds in which candidates are dropped; None if there are none."""
        if not self.racing and self.halving is None:
            return None
        scores = partial(fold_scores, self.estimator, self.scoring, self._metric(), params)
        return Rounds(plan, scores, self.racing, self.halving)

    def _adopt(
        self, plan: Plan, rounds: Rounds | None, stop: BaseException | None, params: dict[str, Any]
    ) -> None:
        """Compute scores and ranks by scikit-learn's search. Sets: the results of the search.

        After Ctrl-C they are those of the candidates that were complete, which are scored again.
        """
        inner: Any = None
        while inner is None:
            self._check_complete(plan, stop)
            try:
                inner, figures = self._scored(plan, rounds, params)
            except KeyboardInterrupt as ctrl_c:
                stop = ctrl_c
        done, interrupted = sum(plan.complete), isinstance(stop, KeyboardInterrupt)
        found = {name: getattr(inner, name) for name in _RESULTS if hasattr(inner, name)}
        if self.scoring is None:
            found["scorer_"] = check_scoring(self.estimator)
        found["cv_results_"] |= figures
        found["shared_"] = True
        found["stopped_"] = None if stop is None else "interrupt" if interrupted else "max_time"
        gone = (*_RESULTS, "best_estimator_", "refit_time_", "feature_names_in_")  # of another fit
        kept = {name: value for name, value in vars(self).items() if name not in gone}
        self.__dict__ = kept | found
        if stop is not None:
            why = "Ctrl-C" if interrupted else f"max_time={self.max_time:g}"
            warnings.warn(
                f"{why} ended the search after {done} of {len(plan.candidates)} candidates; the "
                "others have the score nan",
                UserWarning,
                stacklevel=level_of_caller(),
            )

    def _check_complete(self, plan: Plan, stop: BaseException | None) -> None:
        """Raise an error if a search was stopped before a candidate was complete."""
        if stop is None or any(plan.complete):
            return
        if isinstance(stop, KeyboardInterrupt):
            raise KeyboardInterrupt(
                "interrupted before a candidate was complete: there is no model to keep"
            )
        raise TimeoutError(
            f"max_time={self.max_time:g} was too short for a single candidate: raise max_time"
        )

    def _scored(
        self, plan: Plan, rounds: Rounds | None, params: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return scikit-learn's search over the results, and further figures of `cv_results_`."""
        missing = not all(plan.complete)
        failures = [found for found in plan.found.values() if isinstance(found, Exception)]
        if missing and failures and self.error_score == "raise":
            raise failures[0]
        figures = {
            "mean_fit_time": plan.seconds.mean(axis=1),
            "std_fit_time": plan.seconds.std(axis=1),
            "mean_kkt_violation": plan.violation.mean(axis=1),
        } | ({} if rounds is None else rounds.figures)
        choose = (lambda results: self.refit(results | figures)) if callable(self.refit) else None
        options = {
            "scoring": self.scoring,
            "refit": choose or self.refit,
            "verbose": self.verbose,
            "error_score": np.nan if missing else self.error_score,
            "return_train_score": self.return_train_score,
        }
        return scored(plan, self.estimator, options, params, missing=missing), figures

    def _refit(self, plan: Plan, params: dict[str, Any], seconds: float | None) -> None:
        """Fit the best candidate on all rows. Sets: best_estimator_, refit_time_.

        During this fit the SVM has the rest of the time as its limit. `on_interrupt="keep"` holds
        for it, too.
        """
        begun, prefix = time.perf_counter(), plan.machine.prefix
        model = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        limits: dict[str, Any] = {f"{prefix}max_time": seconds}
        if self.on_interrupt == "keep":
            limits[f"{prefix}on_interrupt"] = "keep"
        given = {name: model.get_params()[name] for name in limits}
        model.set_params(**limits)
        options = {name: value for name, value in params.items() if name != "groups"}
        try:
            model.fit(plan.X, *(() if plan.y is None else (plan.y,)), **options)
        except KeyboardInterrupt:
            self.stopped_ = "interrupt"
            raise
        self.best_estimator_ = model.set_params(**given)
        self.refit_time_ = time.perf_counter() - begun
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        refitted = not self.refit or "best_estimator_" in vars(self)
        return refitted and "cv_results_" in vars(self)


trust(GridSearchCV)
