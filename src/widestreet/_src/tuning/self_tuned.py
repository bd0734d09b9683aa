"""SVMs that choose their parameters by cross-validation."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import check_cv

from widestreet._src import checks
from widestreet._src.certificate import Certificate
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators import data_checks, parameter_checks, reported
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.plain_state import attributes_of, state_of
from widestreet._src.estimators.saving import save
from widestreet._src.estimators.widths import coarse_gammas
from widestreet._src.files.table import StoredRows
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.tuning.grid_search import REFIT_SHARE, time_of_refit
from widestreet._src.tuning.plan import Split
from widestreet._src.tuning.ranges import COARSE_C, Ranges
from widestreet._src.tuning.stages import SearchTask, Stages, plain_results, results_from
from widestreet._src.tuning.tasks import SearchData

_SEARCH_TOL = 0.01  # violation at which points are solved, in units of the target
_MOST_EXTENSIONS = 6
_COMMON = ("kernel", "tol", "max_memory", "n_jobs", "random_state", "on_interrupt", "verbose",
           "device")  # fmt: skip
_OF_THE_SVM = ("support_", "support_vectors_", "n_support_", "dual_coef_", "intercept_", "coef_",
               "class_weight_", "certificates_", "trace_", "n_iter_", "n_kernel_values_",
               "fit_status_", "shape_fit_", "compaction_")  # fmt: skip
_CHOSEN = ("C_", "gamma_", "epsilon_")


class SelfTuned(BaseEstimator):  # type: ignore[misc]
    """Base class of the SVMs that choose their parameters.

    Subclasses set `_kind`, the class of the SVM.
    """

    _kind: ClassVar[type[OptimalFit]]

    Cs: Any
    gammas: Any
    kernel: Any
    cv: Any
    scoring: Any
    tol: float
    max_time: float | None
    max_memory: Any
    n_jobs: int | None
    progress: bool
    on_interrupt: str
    random_state: Any
    verbose: int | bool
    device: str

    best_estimator_: Any
    cv_results_: dict[str, Any]
    n_features_in_: int

    @abstractmethod
    def _ranges(self, data: SearchData, rng: np.random.Generator) -> Ranges:
        """Return the ranges of the parameters."""

    def _size(self, data: SearchData) -> float:
        """Return the unit of violations, C and epsilon: 1 for labels."""
        return 1.0

    def _estimator(self) -> OptimalFit:
        """Return the SVM whose parameters are chosen, at the tolerance of the refit."""
        checks.require_choice("kernel", self.kernel, ("rbf", "laplacian", "linear"))
        return self._kind(**{name: getattr(self, name) for name in _COMMON})

    # -- training ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the parameters, then train on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. scikit-learn 1.9 and later weigh the scores of the folds, too.
        groups : array-like of shape (n_samples,), default=None
            Groups of the rows, for a splitter such as ``GroupKFold()`` as `cv`.

        Returns
        -------
        estimator
            The fitted estimator itself.
        """
        whole = Budget(self._checked_limit())
        if isinstance(X, StoredRows):
            raise TypeError(
                f"X was opened by open_rows, but {type(self).__name__} needs all rows in memory: "
                "pass X.to_numpy() and y.to_numpy()"
            )
        estimator = self._estimator()
        data = SearchData.of(estimator, X, y, sample_weight)
        ranges = self._ranges(data, parameter_checks.resolve_rng(self.random_state))
        search = Stages(self._task(data, groups, weighted=sample_weight is not None))
        self._run(search, ranges)
        if search.stopped:
            why = "Ctrl-C" if search.stopped == "interrupt" else f"max_time={self.max_time:g}"
            warnings.warn(
                f"{why} ended the search after {search.complete} candidates; others were not tried",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        best = ranges.parameters(search.best)
        try:
            if search.stopped == "interrupt" and self.on_interrupt == "raise":
                raise KeyboardInterrupt
            estimator.set_params(**best, max_time=time_of_refit(whole))
            estimator.fit(X, y, sample_weight).set_params(max_time=None)
        except KeyboardInterrupt:
            self._adopt(search, best, data.seen, {})
            raise
        seen = ("n_features_in_", "feature_names_in_", "classes_")
        fitted = {name: vars(estimator)[name] for name in seen if name in vars(estimator)}
        self._adopt(search, best, fitted, {"best_estimator_": estimator})
        edge = ranges.on_edge(search.best)
        if edge and not search.stopped:
            warnings.warn(
                f"the best value of {' and of '.join(edge)} is at the end of the range that was "
                f"searched: pass values beyond it as {' and '.join(name + 's' for name in edge)}",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        return self

    def _checked_limit(self) -> float | None:
        """Return the limit on the time; raise ValueError for a parameter that is not valid."""
        checks.require_choice("on_interrupt", self.on_interrupt, ("raise", "keep"))
        checks.require_flag("progress", self.progress)
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            given = checks.shown(self.scoring)
            raise ValueError(f"scoring must be one scorer or None, got {given}")
        if self.max_time is None:
            return None
        return checks.require_real("max_time", self.max_time, above=0.0)

    def _task(self, data: SearchData, groups: Any, *, weighted: bool) -> SearchTask:
        """Return what all points of the search have in common."""
        limit = self.max_time
        tol = max(self.tol, _SEARCH_TOL * self._size(data))
        return SearchTask(
            estimator=self._estimator().set_params(tol=tol, gap_tol=None, verbose=False),
            data=data,
            splits=self._splits(data, groups),
            weighted=weighted,
            scoring=self.scoring,
            budget=Budget(None if limit is None else (1.0 - REFIT_SHARE) * limit),
            progress=self.progress,
        )

    def _splits(self, data: SearchData, groups: Any) -> list[Split]:
        """Return the folds; raise ValueError if one of them cannot be trained or scored."""
        there = data.weight > 0
        if data.classes is not None:
            data_checks.check_number_of_classes(data.classes[np.unique(data.code[there])])
        cv = self.cv
        if not (hasattr(cv, "split") or hasattr(cv, "__iter__")) or isinstance(cv, str):
            cv = checks.require_integer(
                "cv", cv, least=2, none="a splitter or a list of pairs (train, test)"
            )
            of = "rows" if data.classes is None else "rows of a class"
            most = data.rows if data.classes is None else int(np.bincount(data.code).max())
            if cv > most:
                raise ValueError(
                    f"cv={cv}: so many folds need as many {of}, got {most} (n_samples = "
                    f"{data.rows}): pass more rows" + (f", or cv={most} or less" * (most > 1))
                )
        elif hasattr(cv, "__iter__"):
            cv = list(cv)
        splitter = check_cv(cv, data.y, classifier=is_classifier(self))
        found = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(data.X, data.y, groups)]
        if not found:
            raise ValueError("cv has no folds: pass pairs (train, test) of row numbers")
        for k, (train, test) in enumerate(found):
            if not there[test].any():
                raise ValueError(f"cv: the test set of fold {k} has no row of positive weight")
            kinds = np.unique(data.code[train][there[train]])
            if len(kinds) < 2 and data.classes is not None:
                raise ValueError(
                    f"cv: the training set of fold {k} has rows of one class only: pass "
                    "stratified folds, or more rows of each class"
                )
        return found

    def _run(self, search: Stages, ranges: Ranges) -> None:
        """Evaluate the coarse grid, extend it while the best point is on its edge, refine it."""
        try:
            search.evaluate(ranges, ranges.coarse())
        except TimeoutError:  # names the time of this stage
            raise TimeoutError(
                f"max_time={self.max_time:g} was too short for a single candidate: raise max_time"
            ) from None
        for _ in range(_MOST_EXTENSIONS):
            points = ranges.beyond(search.best)
            if not points or search.stopped:
                break
            search.evaluate(ranges, points)
        for names in (("C", "gamma"), ("epsilon",)):
            points = ranges.fine(search.best, names)
            if points and not search.stopped:
                search.evaluate(ranges, points)

    def _adopt(
        self,
        search: Stages,
        best: Mapping[str, float],
        seen: dict[str, Any],
        model: dict[str, Any],
    ) -> None:
        """Set all fitted attributes in one assignment; the SVM is missing after Ctrl-C."""
        gone = (*_CHOSEN, "classes_", "feature_names_in_", "best_estimator_")  # of the fit before
        kept = {name: value for name, value in vars(self).items() if name not in gone}
        found = {
            "best_score_": search.best_score,
            "scores_": search.scores,
            "cv_results_": search.results,
            "stopped_": search.stopped if model else "interrupt",
        }
        chosen = {f"{name}_": value for name, value in best.items()}
        self.__dict__ = kept | seen | chosen | found | model

    # -- the SVM -----------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in vars(self)

    def _svm(self) -> Any:
        """Return the SVM that was trained on all rows; raise NotFittedError if there is none."""
        if "best_estimator_" not in vars(self):
            raise NotFittedError(
                f"this {type(self).__name__} has no model: call fit first; a search that Ctrl-C "
                "ended leaves its results only"
            )
        return self.best_estimator_

    def __getattr__(self, name: str) -> Any:
        if name in _OF_THE_SVM and "best_estimator_" in vars(self):
            return getattr(self.best_estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def certificate_(self) -> Certificate:
        """Certificate of the model that was trained on all rows."""
        certificate: Certificate = self._svm().certificate_
        return certificate

    def predict(self, X: Any) -> Any:
        """Return the prediction of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._svm().predict(X)

    def compact(self, tolerance: float, *, rows: Any = None, quantile: float = 1.0) -> Self:
        """Return a copy whose model has fewer support vectors, as `SVC.compact` does.

        Parameters
        ----------
        tolerance : float
            Largest change of decision values: of any row, or of the given rows.
        rows : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Rows on which the change is measured, instead of a bound for all rows.
        quantile : float, default=1.0
            Part of these rows whose decision values may not change by more than `tolerance`.

        Returns
        -------
        estimator
            Another fitted estimator; `compaction_` describes the change.
        """
        found = copy(self)
        found.best_estimator_ = self._svm().compact(tolerance, rows=rows, quantile=quantile)
        return found

    report = reported.report

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- files -------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = state_of(self)
        if "cv_results_" in state["fitted"]:
            state["fitted"]["cv_results_"] = plain_results(self.cv_results_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = attributes_of(state)
        if "cv_results_" in vars(self):
            self.cv_results_ = results_from(state["fitted"]["cv_results_"])

    def save(self, path: Any, *, trace: bool = True) -> None:
        """Write the fitted estimator to a file, which `widestreet.load` reads.

        The file holds JSON and arrays, no code. It is replaced atomically.

        Parameters
        ----------
        path : str or path-like
            Usually with the ending ".street".
        trace : bool, default=True
            If False, the trace of `best_estimator_` is left out.
        """
        self._svm()
        save(self, path, {}, trace=trace)

    @classmethod
    def _check_state(cls, fitted: Mapping[str, Any]) -> None:
        """Raise ValueError if fitted attributes from a file are not those of such an estimator."""
        svm, scores, results = (fitted[k] for k in ("best_estimator_", "scores_", "cv_results_"))
        if type(svm) is not cls._kind or "support_" not in vars(svm):
            raise ValueError("a best_estimator_ that is no fitted SVM")
        if fitted["n_features_in_"] != svm.n_features_in_:
            raise ValueError("n_features_in_ that is not that of best_estimator_")
        names = fitted.get("feature_names_in_")
        if names is not None and np.shape(names) != (svm.n_features_in_,):
            raise ValueError("names of other columns")
        if "classes_" in vars(svm) and not np.array_equal(fitted["classes_"], svm.classes_):
            raise ValueError("classes_ that are not those of best_estimator_")
        if scores.ndim != 2 or scores.dtype != np.float64:
            raise ValueError("scores_ of a wrong shape or type")
        columns = [*results["params"].values(), *(v for k, v in results.items() if k != "params")]
        if not all(column.shape == scores.shape[:1] for column in columns):
            raise ValueError("cv_results_ of other points than scores_")
        for name in _CHOSEN:
            if name in fitted and not isinstance(fitted[name], float):
                raise ValueError(f"{name} that is no number")


def given_values(values: Any, name: str, *, positive: bool = True) -> tuple[float, ...]:
    """Return the values that a user passed for a parameter, ascending."""
    above, least = (0.0, None) if positive else (None, 0.0)
    if not hasattr(values, "__iter__") or isinstance(values, str):
        raise ValueError(f"{name} must be a sequence of numbers, got {checks.shown(values)}")
    found = {checks.require_real(name, value, above=above, least=least) for value in values}
    if not found:
        raise ValueError(f"{name} must have at least one value")
    return tuple(sorted(found))


def kernel_ranges(model: SelfTuned, data: SearchData, rng: np.random.Generator) -> Ranges:
    """Return the ranges of C and gamma."""
    given = {"C": model.Cs, "gamma": model.gammas}
    kept = frozenset(name for name, values in given.items() if values is not None)
    size = model._size(data)
    values = tuple(size * C for C in COARSE_C)
    if model.Cs is not None:
        values = given_values(model.Cs, "Cs")
    if model.kernel == "linear":
        return Ranges(("C",), [values], kept, size)
    if model.gammas is not None:
        gammas = given_values(model.gammas, "gammas")
    else:
        there = np.unique(data.member[data.weight > 0])
        rows = data.X[data.merged.kept[there]]
        gammas = coarse_gammas(rows, rng, absolute=model.kernel == "laplacian")
    return Ranges(("C", "gamma"), [values, gammas], kept, size)
