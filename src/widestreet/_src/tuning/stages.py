"""Points that a self-tuned SVM has evaluated, stage by stage."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn import config_context

from widestreet._src.arrays import Floats
from widestreet._src.checks import shown
from widestreet._src.engines.budget import Budget
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.tuning.grid_search import GridSearchCV
from widestreet._src.tuning.plan import Split
from widestreet._src.tuning.ranges import Point, Ranges
from widestreet._src.tuning.tasks import SearchData


@dataclass(frozen=True, eq=False)
class SearchTask:
    """What the points of a search have in common.

    Attributes
    ----------
    estimator : OptimalFit
        SVM with the tolerance of the search.
    data : SearchData
    splits : list of tuple
    weighted : bool
        Whether there are sample weights.
    scoring : str or callable
    budget : Budget
    progress : bool
    """

    estimator: OptimalFit
    data: SearchData
    splits: list[Split]
    weighted: bool
    scoring: Any
    budget: Budget
    progress: bool


@dataclass(eq=False)
class Stages:
    """Points evaluated so far.

    Attributes
    ----------
    task : SearchTask
    points : list of tuple
    results : dict
        `cv_results_` of all points.
    stopped : str or None
        Why the search ended early, if it did: "max_time" or "interrupt".
    """

    task: SearchTask
    points: list[Point] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    stopped: str | None = None

    def evaluate(self, ranges: Ranges, points: list[Point]) -> None:
        """Evaluate points that are new. Sets: points, results, stopped.

        TimeoutError and KeyboardInterrupt are raised if no point has been evaluated.
        """
        task, known = self.task, set(self.points)
        new = [point for point in points if point not in known]
        if not new:
            return
        left = task.budget.part().max_time  # not zero
        if left is not None and self.points and task.budget.remaining() == 0:
            self.stopped = "max_time"
            return
        search = GridSearchCV(
            task.estimator,
            [{name: [v] for name, v in ranges.parameters(point).items()} for point in new],
            scoring=task.scoring,
            refit=False,
            cv=task.splits,
            max_time=left,
            progress=task.progress,
            on_interrupt="keep",
        )
        weight = {"sample_weight": task.data.weight} if task.weighted else {}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* ended the search after", UserWarning)
            warnings.filterwarnings("ignore", "on_interrupt has no effect", UserWarning)
            try:
                with config_context(enable_metadata_routing=False):  # of the caller of this fit
                    search.fit(task.data.X, task.data.y, **weight)
            except (TimeoutError, KeyboardInterrupt) as stop:  # no point of the stage is complete
                if not self.points:
                    raise
                self.stopped = "interrupt" if isinstance(stop, KeyboardInterrupt) else "max_time"
                return
        self._add(new, search)

    def _add(self, new: list[Point], search: GridSearchCV) -> None:
        """Add the results of a stage. Sets: points, results, stopped."""
        if search.multimetric_:
            raise ValueError("scoring must return one number, got several")
        if not self.points and np.isnan(search.cv_results_["mean_test_score"]).all():
            given = shown(self.task.scoring)
            raise ValueError(f"scoring={given} is nan for all points of the coarse grid")
        self.points += new
        self.results = _joined(self.results, search.cv_results_)
        self.stopped = search.stopped_

    @property
    def scores(self) -> Floats:
        """Score of each point in each fold."""
        names = [f"split{f}_test_score" for f in range(len(self.task.splits))]
        return np.stack([self.results[name] for name in names], axis=1)

    @property
    def complete(self) -> int:
        """Number of points that have a score in all folds."""
        return int(np.count_nonzero(~np.isnan(self.results["mean_test_score"])))

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


def plain_results(results: dict[str, Any]) -> dict[str, Any]:
    """Return `cv_results_` as arrays by name, which files can hold."""
    points = results["params"]
    names = sorted(points[0])
    params = {name: np.array([float(point[name]) for point in points]) for name in names}
    others = {
        name: np.asarray(value)
        for name, value in results.items()
        if name != "params" and not name.startswith("param_")
    }
    return {"params": params} | others


def results_from(plain: dict[str, Any]) -> dict[str, Any]:
    """Return `cv_results_` from arrays by name."""
    params = plain["params"]
    found: dict[str, Any] = dict(plain)
    for name, values in params.items():
        found[f"param_{name}"] = np.ma.MaskedArray(values, mask=np.zeros(len(values), dtype=bool))
    columns = zip(*(values.tolist() for values in params.values()), strict=True)
    found["params"] = [dict(zip(params, point, strict=True)) for point in columns]
    return found
