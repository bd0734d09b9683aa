"""The interface of a file in solvers/: how a library is called, and what its solution is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._experiments.harness.task import Task

CACHE_MB = 2000  # for solvers that keep rows of the kernel matrix


@dataclass(frozen=True, eq=False)
class Solution:
    """Dual coefficients of any solver.

    Attributes
    ----------
    coef : ndarray of shape (max(1, classes - 1), rows)
        alpha times label. For the pair of classes i < j, line j - 1 holds the rows of class i,
        which are not negative, and line i those of class j, which are not positive: the layout of
        LIBSVM. For regression one line, the difference of the two variables.
    classes : ndarray
        In the order that `coef` means; empty for regression.
    """

    coef: Any
    classes: Any


class Solver(ABC):
    """A library in the race; `model` is whatever its `fit` returns."""

    name: str
    title: str
    package: str  # what pip installs
    module: str  # what Python imports
    note: str  # what a reader must know
    rank: int = 5  # place in tables
    takes_sparse: bool = True
    uses_tol: bool = True
    invited: bool = True  # takes part unless others are named

    def absent(self) -> str | None:
        """Return why it cannot take part, or None."""
        if find_spec(self.module) is None:
            return f"not installed (pip install {self.package})"
        return None

    def version(self) -> str:
        try:
            return version(self.package)
        except PackageNotFoundError:
            return "?"

    def prepare(self, task: Task, X: Any, y: Any) -> Any:
        """Bring the data into the format of the library. Not timed."""
        return X, y

    @abstractmethod
    def fit(self, task: Task, data: Any, tol: float, threads: int, **options: Any) -> Any:
        """Train. Timed. `options` are further parameters of its estimator, if it has one."""

    @abstractmethod
    def solution(self, model: Any, data: Any) -> Solution:
        """The dual coefficients."""

    @abstractmethod
    def predict(self, model: Any, X: Any) -> Any:
        """Labels or values. Timed."""

    def remarks(self, model: Any) -> dict[str, Any]:
        """Return what else its record has."""
        return {}


class Estimator(Solver):
    """A library with the classes SVC and SVR and the attributes of scikit-learn."""

    @abstractmethod
    def estimator(self, task: Task, tol: float, threads: int) -> Any:
        """A new one, with the parameters of the task."""

    def parameters(self, task: Task, tol: float) -> dict[str, Any]:
        found = {"kernel": task.kernel, "gamma": task.gamma, "C": task.C, "tol": tol}
        return found | ({"epsilon": task.epsilon} if task.kind == "svr" else {})

    def fit(self, task: Task, data: Any, tol: float, threads: int, **options: Any) -> Any:
        model = self.estimator(task, tol, threads)
        return (model.set_params(**options) if options else model).fit(*data)

    def solution(self, model: Any, data: Any) -> Solution:
        lines = model.dual_coef_
        lines = np.asarray(lines.toarray() if sparse.issparse(lines) else lines)
        coef = np.zeros((len(lines), data[0].shape[0]))
        coef[:, model.support_] = lines
        classes = np.asarray(getattr(model, "classes_", []))
        if len(classes) == 2:  # the only case in which scikit-learn turns LIBSVM's signs round
            classes = classes[::-1]
        return Solution(coef, classes)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X)
