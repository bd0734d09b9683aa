"""Fold scores and chosen parameters of the shared search against scikit-learn's search.

Both search with the same estimator, at a tolerance so small that held-out predictions agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import model_selection
from sklearn.base import is_classifier
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_friedman1,
    make_moons,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widestreet as ws
from widestreet._experiments.harness.tables import markdown
from widestreet.datasets import checkerboard, ringnorm
from widestreet.model_selection import GridSearchCV

TOL = 1e-6
FOLDS = 5
Grid = dict[str, list[Any]]
OF_RBF: Grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1, 1.0]}


@dataclass(frozen=True, eq=False)
class Case:
    """Data, an estimator and its grid.

    Attributes
    ----------
    name, special : str
        Name of the data, and what the case is about.
    data : tuple
        Rows, and labels or targets.
    estimator : object
        SVM, or pipeline whose last step is one.
    grid : dict
    options : dict
        Further arguments of `fit`.
    cv : object
    """

    name: str
    special: str
    data: tuple[Any, Any]
    estimator: Any
    grid: Grid = field(default_factory=lambda: OF_RBF)
    options: dict[str, Any] = field(default_factory=dict)
    cv: Any = FOLDS


def _in_pipeline(estimator: Any, grid: Grid) -> dict[str, Any]:
    """Return a pipeline that scales the columns, and the grid of its last step."""
    name = type(estimator).__name__.lower()
    names = {f"{name}__{key}": values for key, values in grid.items()}
    return {"estimator": make_pipeline(StandardScaler(), estimator), "grid": names}


def _two_classes() -> list[Case]:
    rng = np.random.default_rng(0)
    svc = ws.SVC(tol=TOL)
    cancer = load_breast_cancer(return_X_y=True)
    moons = make_moons(400, noise=0.3, random_state=0)
    ring = ringnorm(500, random_state=0)
    board = checkerboard(500, random_state=0)
    weight = {"sample_weight": rng.integers(0, 4, 400).astype(float)}
    groups = {"groups": rng.integers(0, 12, 500)}
    balanced = ws.SVC(tol=TOL, class_weight="balanced")
    kinds: Grid = {"kernel": ["rbf", "laplacian", "poly"], "C": [0.1, 1.0, 10.0], "gamma": [0.1]}
    nus: Grid = {"nu": [0.1, 0.2, 0.3], "gamma": [0.5, 2.0, 8.0]}
    return [
        Case("breast cancer", "pipeline", cancer, **_in_pipeline(svc, OF_RBF)),
        Case("moons", "weights", moons, svc, options=weight),
        Case("ringnorm", "groups", ring, svc, options=groups, cv=model_selection.GroupKFold(5)),
        Case("ringnorm", "several kernels, balanced classes", ring, balanced, kinds),
        Case("checkerboard", "nu-SVC", board, ws.NuSVC(tol=TOL), nus),
    ]


def _several_classes() -> list[Case]:
    svc = ws.SVC(tol=TOL)
    digits = load_digits(return_X_y=True)
    X, y = digits[0][:500] / 16, digits[1][:500]
    wine = load_wine(return_X_y=True)
    linear: Grid = {"kernel": ["linear"], "C": [0.01, 0.1, 1.0]}
    return [
        Case("iris", "three classes", load_iris(return_X_y=True), svc),
        Case("wine", "three classes, linear, pipeline", wine, **_in_pipeline(svc, linear)),
        Case("digits", "ten classes", (X, y), svc),
        Case("digits", "ten classes, sparse", (sparse.csr_array(X), y), svc),
    ]


def _regressions() -> list[Case]:
    rng = np.random.default_rng(0)
    # not 0.1 beside "scale": of ten columns of variance 1 they are the same gamma, and rounding
    # would choose between two equal candidates
    grid: Grid = {"C": [1.0, 10.0], "gamma": ["scale", 0.2], "epsilon": [0.1, 0.5]}
    nus: Grid = {"C": [1.0, 10.0], "gamma": [0.1, 0.5], "nu": [0.3, 0.6]}
    friedman = make_friedman1(300, noise=1.0, random_state=0)
    weight = {"sample_weight": rng.uniform(0.5, 2.0, 300)}
    X, y = load_diabetes(return_X_y=True)
    pipeline = _in_pipeline(ws.SVR(tol=TOL), grid)
    return [
        Case("diabetes", "regression, pipeline", (X, (y - y.mean()) / y.std()), **pipeline),
        Case("friedman1", "regression, weights", friedman, ws.SVR(tol=TOL), grid, weight),
        Case("friedman1", "nu-SVR", friedman, ws.NuSVR(tol=TOL), nus),
    ]


CASES: list[Callable[[], list[Case]]] = [_two_classes, _several_classes, _regressions]


def compared(case: Case, threads: int) -> tuple[float, bool, int]:
    """Return the largest difference of a fold score, whether the choice agrees, and the models.

    The difference of a classifier is a number of held-out rows.
    """
    X, y = case.data
    last = case.estimator[-1] if hasattr(case.estimator, "steps") else case.estimator
    last.set_params(n_jobs=threads)
    found, scores = [], []
    for kind in (GridSearchCV, model_selection.GridSearchCV):
        search = kind(case.estimator, case.grid, cv=case.cv, refit=False)
        search.fit(X, y, **case.options)
        names = [f"split{k}_test_score" for k in range(search.n_splits_)]
        found.append(search)
        scores.append(np.array([search.cv_results_[name] for name in names]))
    if not found[0].shared_:
        raise ValueError(f"{case.name} was not shared")
    apart = np.abs(scores[0] - scores[1])
    if is_classifier(case.estimator):
        splits = model_selection.check_cv(case.cv, y, classifier=True).split(
            X, y, case.options.get("groups")
        )
        apart = apart * np.array([[len(test)] for _, test in splits])
    return float(apart.max()), found[0].best_params_ == found[1].best_params_, scores[0].size


def equal(threads: int) -> str:
    """Return a table of the differences between both searches."""
    lines = []
    for case in (case for cases in CASES for case in cases()):
        apart, same, models = compared(case, threads)
        unit = f"{apart:.0f} rows" if is_classifier(case.estimator) else f"{apart:.0e} of R^2"
        size = "{:,} x {}".format(*case.data[0].shape)
        choice = "equal" if same else "different"
        lines.append([case.name, case.special, size, str(models), unit, choice])
    head = ["data", "with", "rows x features", "models", "largest difference of a fold score"]
    return markdown([*head, "`best_params_`"], lines)
