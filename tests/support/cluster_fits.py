"""Problems that are fitted here and on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import dask
import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from conftest import TOL
from support.cluster import PATIENCE
from widestreet import dask as wd
from widestreet._src.dask import fit
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.problems.class_pairs import PairLayout
from widestreet.datasets import friedman, twonorm

N, CUTS = 500, [120, 120, 250, 390]  # one partition is empty


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no problem be small enough to be gathered."""
    monkeypatch.setattr(fit, "_FEW_ROWS", 0)


def partitions(values: Any) -> list[Any]:
    """Rows as a list of Delayed partitions of different sizes."""
    ends = [0, *CUTS, N]
    return [dask.delayed(values[a:b]) for a, b in pairwise(ends)]


@dataclass(frozen=True)
class Case:
    """A problem: the estimator by its name, its parameters, and what its rows are."""

    estimator: str
    parameters: dict[str, Any] = field(default_factory=dict)
    weighted: bool = False
    classes: int = 2
    repeated: bool = False
    form: Callable[[Any], Any] = np.asarray

    def data(self) -> tuple[Any, Any, Any]:
        """Rows, labels or targets, and weights."""
        rng = np.random.default_rng(3)
        if self.estimator.endswith("SVR"):
            X, y = friedman(N, random_state=0)
        elif self.classes == 2:
            X, y = twonorm(N, random_state=0)
        else:
            y = np.sort(rng.integers(0, self.classes, N))  # classes in some partitions only
            X = rng.normal(size=(N, 4)) + 1.5 * np.eye(self.classes)[y][:, :4]
        if self.repeated:  # equal rows with equal labels or targets
            same = 4 * rng.integers(0, N // 4, N)
            X, y = X[same], y[same]
        weight = rng.choice([0.0, 0.5, 1.0, 3.0], N) if self.weighted else None
        return self.form(X), y, weight

    def models(self, client: Any) -> tuple[Any, Any]:
        """The estimator of the cluster, and that of this process."""
        given = {"tol": 1e-5, "gap_tol": None, "random_state": 0} | self.parameters
        here = getattr(ws, self.estimator)(**given)
        far = getattr(wd, self.estimator)(**given, max_time=PATIENCE, client=client)
        return far, here

    def fitted(self, client: Any) -> tuple[Any, Any]:
        """Both models, fitted."""
        X, y, weight = self.data()
        far, near = self.models(client)
        far.fit(partitions(X), partitions(y), None if weight is None else partitions(weight))
        return far, near.fit(X, y, weight)


CASES = {
    "svc": Case("SVC", {"C": 2.0}),
    "balanced": Case("SVC", {"class_weight": "balanced"}, weighted=True),
    "squared hinge": Case("SVC", {"loss": "squared_hinge"}),
    "linear": Case("SVC", {"kernel": "linear", "C": 0.1}),
    "poly": Case("SVC", {"kernel": "poly", "degree": 2, "coef0": 1.0}),
    "csr": Case("SVC", {}, form=sparse.csr_matrix),
    "float32": Case("SVC", {"tol": 1e-4}, form=np.float32),
    "four classes": Case("SVC", {"class_weight": {0: 2.0}}, classes=4, weighted=True),
    "nu-svc": Case("NuSVC", {"nu": 0.3}, weighted=True),
    "svr": Case("SVR", {"C": 2.0, "epsilon": 0.3}, weighted=True),
    "squared svr": Case("SVR", {"loss": "squared_epsilon_insensitive"}),
    "nu-svr": Case("NuSVR", {"nu": 0.4}),
    "csr svr": Case("SVR", {"epsilon": 0.5}, form=sparse.csr_matrix),
    "equal rows": Case("SVC", {"C": 3.0}, weighted=True, repeated=True),
    "equal rows of four classes": Case("SVC", classes=4, repeated=True),
    "equal rows, squared loss": Case("SVC", {"loss": "squared_hinge"}, repeated=True),
    "equal targets": Case("NuSVR", {"nu": 0.4, "C": 2.0}, weighted=True, repeated=True),
    "one class": Case("OneClassSVM", {"nu": 0.2}, weighted=True),
    "weighted nu-svr": Case("NuSVR", {"nu": 0.3, "C": 3.0}, weighted=True),
    "csr one class": Case("OneClassSVM", {"nu": 0.3}, form=sparse.csr_matrix),
}


def bias_is_unique(model: Any, weight: Any) -> list[bool]:
    """Return of each problem whether every group has a coefficient strictly within its box."""
    formulation, layout = model._formulation(), PairLayout(len(model.n_support_))
    coef = dense_coef(model.dual_coef_)
    box = formulation.box(np.ones(N) if weight is None else weight)[model.support_]
    if getattr(formulation, "loss", "linear") == "squared":
        box = np.full_like(box, np.inf)
    if layout.classes == 1:
        free = _within(coef[0], box)
        sides = [coef[0] > 0, coef[0] < 0] if formulation.groups == 2 else [coef[0] != 0]
        return [all(np.any(free & side) for side in sides)]
    code = np.repeat(np.arange(layout.classes), model.n_support_)
    coef = coef * layout.by_line_and_class(model._rho)[:, code]
    free = _within(coef, box * model.class_weight_[code])
    both = all if formulation.groups == 2 else any
    return [
        both(np.any(free[layout.line(*ends), code == ends[0]]) for ends in ((i, j), (j, i)))
        for i, j in layout.pairs
    ]


def _within(coef: Any, box: Any) -> Any:
    return (np.abs(coef) > 0) & (np.abs(coef) < (1 - TOL.feasibility) * box)
