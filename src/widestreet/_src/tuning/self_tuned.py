"""SVMs that choose their parameters by cross-validation."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from widestreet._src import checks
from widestreet._src.arrays import Floats
from widestreet._src.certificate import Certificate
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators import reported, validation
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.stacklevel import level_of_caller
from widestreet._src.tuning.grid_search import GridSearchCV
from widestreet._src.tuning.ranges import COARSE_C, Point, Ranges, coarse_gammas
from widestreet._src.tuning.tasks import SearchData

_SEARCH_TOL = 0.01  # violation at which points are solved, in units of the target
_MOST_EXTENSIONS = 6


class SelfTuned(BaseEstimator):  # type: ignore[misc]
    """Base class of the SVMs that choose their parameters."""

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

    @abstractmethod
    def _estimator(self) -> OptimalFit:
        """Return the SVM whose parameters are chosen, at the tolerance of the refit."""

    @abstractmethod
    def _ranges(self, data: SearchData, rng: np.random.Generator) -> Ranges:
        """Return the ranges of the parameters."""

    def _size(self, data: SearchData) -> float:
        """Return the unit of violations, C and epsilon: 1 for labels."""
        return 1.0

    def _common(self) -> dict[str, Any]:
        """Return the parameters that the SVM shares."""
        names = ("kernel", "tol", "max_memory", "n_jobs", "random_state", "on_interrupt")
        return {name: getattr(self, name) for name in names}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the parameters, then train on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        estimator
            The fitted estimator itself.
        """
        if self.max_time is not None:
            checks.require_real("max_time", self.max_time, above=0.0)
        checks.require_choice("on_interrupt", self.on_interrupt, ("raise", "keep"))
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(f"scoring must be one scorer or None, got {self.scoring!r}")
        estimator = self._estimator()
        data = SearchData.of(estimator, X, y, sample_weight)
        ranges = self._ranges(data, validation.resolve_rng(self.random_state))
        cv = check_cv(self.cv, data.y, classifier=is_classifier(self))
        weight = {} if sample_weight is None else {"sample_weight": data.weight}
        search = _Stages(self, data, list(cv.split(data.X, data.y)), weight)
        self._run(search, ranges)
        best = ranges.parameters(search.best)
        edge = ranges.on_edge(search.best)
        fitted = estimator.set_params(**best).fit(X, y, sample_weight)
        self._adopt(fitted, search, best)
        if edge and not search.stopped:
            warnings.warn(
                f"the best value of {' and of '.join(edge)} is at the end of the range that was "
                f"searched: pass values beyond it as {' and '.join(name + 's' for name in edge)}",
                UserWarning,
                stacklevel=level_of_caller(),
            )
        if search.stopped == "interrupt" and self.on_interrupt == "raise":
            raise KeyboardInterrupt
        return self

    def _run(self, search: _Stages, ranges: Ranges) -> None:
        """Evaluate the coarse grid, extend it while the best point is on its edge, refine it."""
        search.evaluate(ranges, ranges.coarse())
        for _ in range(_MOST_EXTENSIONS):
            points = ranges.beyond(search.best)
            if not points or search.stopped:
                break
            search.evaluate(ranges, points)
        for names in (("C", "gamma"), ("epsilon",)):
            points = ranges.fine(search.best, names)
            if points and not search.stopped:
                search.evaluate(ranges, points)

    def _adopt(self, fitted: OptimalFit, search: _Stages, best: Any) -> None:
        """Set the fitted attributes. Sets: everything that is fitted."""
        for name in ("C_", "gamma_", "epsilon_", "classes_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of the fit before
        self.best_estimator_ = fitted
        self.best_score_ = search.best_score
        self.scores_ = search.scores
        self.cv_results_ = search.results
        self.n_features_in_ = fitted.n_features_in_
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_
        if hasattr(fitted, "classes_"):
            self.classes_ = fitted.classes_
        for name, value in best.items():
            setattr(self, name + "_", value)

    @property
    def certificate_(self) -> Certificate:
        """Certificate of the model that was trained on all rows."""
        certificate: Certificate = self._fitted().certificate_
        return certificate

    def _fitted(self) -> Any:
        """Return the fitted model; raise NotFittedError if there is none."""
        check_is_fitted(self)
        return self.best_estimator_

    def predict(self, X: Any) -> Any:
        """Return the prediction of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._fitted().predict(X)

    def save(self, path: Any) -> None:
        """Write the fitted `best_estimator_` to a file, which `widestreet.load` reads."""
        self._fitted().save(path)

    report = reported.report

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Stages:
    """Points evaluated so far, stage by stage.

    Parameters
    ----------
    model : SelfTuned
    data : SearchData
    splits : list of tuple
    weight : dict
        Sample weights as a parameter of a fit, if there are any.

    Attributes
    ----------
    points : list of tuple
    results : dict
        `cv_results_` of all points.
    stopped : str or None
        Why the search ended early, if it did.
    """

    def __init__(
        self, model: SelfTuned, data: SearchData, splits: list[Any], weight: dict[str, Any]
    ) -> None:
        self._model, self._data, self._splits, self._weight = model, data, splits, weight
        self._budget = Budget(model.max_time)
        self.points: list[Point] = []
        self.results: dict[str, Any] = {}
        self.stopped: str | None = None

    def evaluate(self, ranges: Ranges, points: list[Point]) -> None:
        """Evaluate points that are new. Sets: points, results, stopped."""
        model, known = self._model, set(self.points)
        new = [point for point in points if point not in known]
        if not new:
            return
        left = self._budget.remaining()
        if left == 0:
            self.stopped = "max_time"
            return
        tol = max(model.tol, _SEARCH_TOL * model._size(self._data))
        search = GridSearchCV(
            model._estimator().set_params(tol=tol, gap_tol=None),
            [{name: [v] for name, v in ranges.parameters(point).items()} for point in new],
            scoring=model.scoring,
            refit=False,
            cv=self._splits,
            max_time=left,
            progress=model.progress,
            on_interrupt="keep",
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* ended the search after", UserWarning)
            if model.on_interrupt == "raise":
                warnings.filterwarnings("ignore", "on_interrupt has no effect", UserWarning)
            try:
                with config_context(enable_metadata_routing=False):  # of the caller of this fit
                    search.fit(self._data.X, self._data.y, **self._weight)
            except (TimeoutError, KeyboardInterrupt) as stop:  # no point of the stage is complete
                ctrl_c = isinstance(stop, KeyboardInterrupt)
                if not self.points or (ctrl_c and model.on_interrupt == "raise"):
                    raise
                self.stopped = "interrupt" if ctrl_c else "max_time"
                return
        if search.multimetric_:
            raise ValueError("scoring must return one number, got several")
        if not self.points and np.isnan(search.cv_results_["mean_test_score"]).all():
            raise ValueError(f"scoring={model.scoring!r} is nan for all points of the coarse grid")
        self.points += new
        self.results = _joined(self.results, search.cv_results_)
        self.stopped = search.stopped_

    @property
    def scores(self) -> Floats:
        """Score of each point in each fold."""
        names = [f"split{f}_test_score" for f in range(len(self._splits))]
        return np.stack([self.results[name] for name in names], axis=1)

    @property
    def best(self) -> Point:
        """Best point: of several, that with the smallest C and then the smallest gamma."""
        mean = self.results["mean_test_score"]
        top = [self.points[k] for k in np.flatnonzero(mean == np.nanmax(mean))]
        return min(top)

    @property
    def best_score(self) -> float:
        """Mean score of the best point."""
        return float(np.nanmax(self.results["mean_test_score"]))


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return the results of two searches, ranked together."""
    found: dict[str, Any] = {}
    for name, value in second.items():
        before = first.get(name)
        if before is None:
            found[name] = value
        elif isinstance(value, list):
            found[name] = before + value
        else:
            join = np.ma.concatenate if isinstance(value, np.ma.MaskedArray) else np.concatenate
            found[name] = join([before, value])
    mean = np.nan_to_num(found["mean_test_score"], nan=-np.inf)
    found["rank_test_score"] = rankdata(-mean, method="min").astype(np.int32)
    return found


def given_values(values: Any, name: str, *, positive: bool = True) -> tuple[float, ...]:
    """Return the values that a user passed for a parameter, ascending."""
    above, least = (0.0, None) if positive else (None, 0.0)
    found = {checks.require_real(name, value, above=above, least=least) for value in values}
    if not found:
        raise ValueError(f"{name} must have at least one value")
    return tuple(sorted(found))


def kernel_ranges(model: SelfTuned, data: SearchData, rng: np.random.Generator) -> Ranges:
    """Return the ranges of C and gamma."""
    given = {"C": model.Cs, "gamma": model.gammas}
    kept = frozenset(name for name, values in given.items() if values is not None)
    values = tuple(model._size(data) * C for C in COARSE_C)
    if model.Cs is not None:
        values = given_values(model.Cs, "Cs")
    if model.kernel == "linear":
        return Ranges(("C",), [values], kept)
    if model.gammas is not None:
        gammas = given_values(model.gammas, "gammas")
    else:
        gammas = coarse_gammas(data.X, rng)
        if model.kernel == "laplacian":
            gammas = tuple(np.sqrt(gammas).tolist())
    return Ranges(("C", "gamma"), [values, gammas], kept)
