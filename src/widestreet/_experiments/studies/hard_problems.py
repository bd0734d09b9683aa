"""Problems on which fits do not end: as users of scikit-learn have reported them, and others.

Where a report has no data, its rows are made here with the numbers that the report states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, make_classification

Data = tuple[Any, Any]


@dataclass(frozen=True)
class Case:
    """A fit.

    Attributes
    ----------
    load : callable
        Returns the rows and the targets.
    machine : str
        Class of the estimator.
    parameters : dict
        Of both estimators.
    limit : float
        Seconds.
    text : str
        Where the rows are from, or what makes the fit hard.
    fits : int
        Number of fits, one after the other.
    more : dict
        Parameters of scikit-learn only.
    """

    load: Callable[[], Data]
    machine: str
    parameters: dict[str, Any] = field(default_factory=dict)
    limit: float = 30.0
    text: str = ""
    fits: int = 1
    more: dict[str, Any] = field(default_factory=dict)


# -- rows ------------------------------------------------------------------------------------------


def one_feature() -> Data:
    """Return 604 rows of one class and 663 of the other, whose weights are those of the report.

    gamma of the report is one over the variance of the feature, which has long tails here.
    """
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [604, 663])
    x = rng.standard_t(2, size=len(y)) + 0.1 * y
    return x[:, None] * np.sqrt(1 / 0.9597420397825849 / x.var()), y


def six_rows() -> Data:
    """Return the rows of the report."""
    X = np.zeros((6, 13))
    X[[0, 5], 2], X[[0, 5], 5], X[[0, 5], 6] = 0.3, 1.0, 0.625
    X[1, [5, 6, 10, 12]] = 0.33333333, 0.61538462, 1.0, 1.0
    X[[2, 4], 10] = 1.0
    X[3, [0, 3, 4, 5, 7, 8]] = 0.66666667, 0.5, 1.0, 0.8, 1.0, 0.5625
    X[:, 9] = 0.31865753, 0.59230137, 0.31778082, 0.36430137, 0.33638356, 0.31843836
    return X, np.array([False, True, True, False, True, False])


def two_rows() -> Data:
    """Return the rows of the report."""
    return np.array([[1.0, 99999.0], [2.0, 99999.0]]), np.array([0, 1])


def outliers() -> Data:
    """Return as many rows as in the report, scaled by median and quartiles, with long tails."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(2, size=(278_217, 19))
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    return (X - middle) / (high - low), None


def mixture() -> Data:
    """Return as many rows as in the report: gene expressions, and a mixture of their columns."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(5.0, 2.0, size=(547, 22))
    return X, X @ rng.dirichlet(np.ones(22)) * rng.lognormal(0.0, 0.3, 547)


def iris() -> Data:
    """Return the rows of the report."""
    X, y = load_iris(return_X_y=True)
    return X, y


def noisy(n: int, d: int = 20, seed: int = 0) -> Data:
    """Return classes of which 30 % of the labels are random."""
    X, y = make_classification(n, d, n_informative=d // 2, flip_y=0.3, random_state=seed)
    return X, y


def unscaled(n: int, d: int = 10, seed: int = 0) -> Data:
    """Return columns whose scales differ by a factor of 10,000."""
    rng = np.random.default_rng(seed)
    s = np.logspace(0, 4, d)
    X = rng.lognormal(sigma=1, size=(n, d)) * s
    return X, (np.log(X / s)[:, :3].sum(axis=1) + rng.normal(size=n) > 0).astype(int)


def noise(n: int, d: int = 10, seed: int = 0) -> Data:
    """Return a smooth function with noise of its size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0] * 2) + X[:, 1] * X[:, 2] + rng.normal(size=n)


def plane(n: int) -> Data:
    """Return two columns, one of which has a weak effect on the class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 2 * rng.normal(size=n) > 0).astype(int)


def grid(n: int) -> Data:
    """Return rows of which many are equal, with classes that depend on them and on noise."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(n, 6)).astype(float)
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + 3 * rng.normal(size=n) > 6).astype(int)


def random_labels(n: int) -> Data:
    """Return normal rows whose classes do not depend on them."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 20)), rng.integers(0, 2, n)


def logarithms(n: int) -> Data:
    """Return unscaled rows and the sums of their logarithms."""
    X, _ = unscaled(n)
    return X, np.log(X).sum(axis=1)


# -- fits ------------------------------------------------------------------------------------------

OWN, MADE = "rows of the report", "rows made from the numbers in the report"
REPORTED = {
    "#30353": Case(
        one_feature,
        "SVC",
        {
            "C": 100,
            "kernel": "poly",
            "degree": 4,
            "gamma": 0.9597420397825849,
            "tol": 0.01,
            "class_weight": {0: 1.04884106, 1: 0.95550528},
        },
        text=MADE,
    ),
    "#13075": Case(
        six_rows,
        "NuSVC",
        {"coef0": 10.0, "gamma": "auto", "kernel": "poly", "nu": 2 / 7},
        text=f"{OWN}, 100 fits",
        fits=100,
        more={"probability": True},
    ),
    "#11020": Case(
        lambda: unscaled(1000),
        "SVC",
        {"kernel": "linear"},
        text="no rows in the report; unscaled ones",
    ),
    "#6617": Case(outliers, "OneClassSVM", {"max_iter": 10}, text=MADE),
    "#6617, no limit on steps": Case(outliers, "OneClassSVM", limit=120, text=MADE),
    "#11079": Case(mixture, "NuSVR", {"kernel": "linear"}, text=MADE),
    "#4648": Case(two_rows, "SVC", {"kernel": "poly", "degree": 2, "gamma": "auto"}, text=OWN),
    "#13557": Case(
        iris,
        "SVC",
        {
            "C": 0.6652997139930452,
            "kernel": "poly",
            "degree": 7,
            "gamma": 4178.386000737241,
        },
        text=OWN,
    ),
}


def _svc(load: Callable[[], Data], limit: float, **parameters: Any) -> Case:
    return Case(load, "SVC", parameters, limit)


CONSTRUCTED = {
    "poly, unscaled, 300": _svc(lambda: unscaled(300), 55, kernel="poly", gamma=1.0),
    "linear, unscaled, 1,000": _svc(lambda: unscaled(1000), 55, kernel="linear"),
    "linear, noisy, C 1e5": _svc(lambda: noisy(1000), 55, kernel="linear", C=1e5),
    "linear, noisy, C 1e10": _svc(lambda: noisy(1000), 10, kernel="linear", C=1e10),
    "gamma 1e-6, C 1e12": _svc(lambda: noisy(1000), 10, C=1e12, gamma=1e-6),
    "gamma 0.05, C 1e15": _svc(lambda: noisy(1000), 10, C=1e15, gamma=0.05),
    "poly, unscaled, 5,000": _svc(lambda: unscaled(5000), 45, kernel="poly", gamma=1.0),
    "SVR, no tube, C 1e4": Case(
        lambda: noise(10_000), "SVR", {"C": 1e4, "epsilon": 0.0, "gamma": 0.1}, 45
    ),
    "linear, unscaled, 20,000": _svc(lambda: unscaled(20_000), 45, kernel="linear"),
    "the same, C 100": _svc(lambda: unscaled(20_000), 25, kernel="linear", C=100.0),
    "poly, noisy, C 1e3": _svc(lambda: noisy(20_000), 45, kernel="poly", C=1e3, coef0=1.0),
    "gamma 0.001, C 1e8": _svc(lambda: noisy(20_000), 25, C=1e8, gamma=0.001),
    "linear, noisy, C 1e3": _svc(lambda: noisy(50_000), 45, kernel="linear", C=1e3),
    "the same, C 1e6": _svc(lambda: noisy(50_000), 25, kernel="linear", C=1e6),
    "linear, two columns": _svc(lambda: plane(200_000), 45, kernel="linear", C=10.0),
    "SVR, linear, unscaled": Case(
        lambda: logarithms(10_000), "SVR", {"kernel": "linear", "C": 10.0}, 25
    ),
    "gamma 0.05, C 1e8": _svc(lambda: noisy(5000), 25, C=1e8, gamma=0.05),
    "NuSVC, noisy": Case(lambda: noisy(50_000), "NuSVC", {"nu": 0.6}, 45),
    "NuSVR, noise": Case(lambda: noise(20_000), "NuSVR", {"nu": 0.5, "C": 100.0}, 25),
    "one class, half outside": Case(
        lambda: (noisy(50_000)[0], None), "OneClassSVM", {"nu": 0.5, "gamma": 0.05}, 25
    ),
    "equal rows, C 100": _svc(lambda: grid(100_000), 25, C=100.0, gamma=0.5),
    "random labels, C 1e3": _svc(lambda: random_labels(20_000), 25, C=1e3, gamma=0.05),
}
CASES = REPORTED | CONSTRUCTED
