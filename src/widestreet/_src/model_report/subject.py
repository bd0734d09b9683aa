"""The SVM inside a model: behind pipelines, searches and wrappers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from widestreet._src.arrays import Floats
from widestreet._src.calibration.wrapper import SVMWrapper
from widestreet._src.certificate import Certificate
from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.outlier_detector import OutlierDetector
from widestreet._src.estimators.regressor import Regressor
from widestreet._src.estimators.scoring import expansion_of
from widestreet._src.interchange.scikit_learn import as_own
from widestreet._src.problems.class_pairs import PairLayout


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model and its parts.

    Attributes
    ----------
    given : estimator
        The model as the user has it.
    machine : KernelModel
        The SVM in it.
    steps : Pipeline or None
        Transformers before the SVM.
    wrapper : CalibratedSVC, IntervalSVR or None
    search : estimator or None
        Search that has chosen the parameters.
    certificates : list of Certificate
        Certificate of each problem; empty if the model was trained elsewhere.
    """

    given: Any
    machine: Any
    steps: Any
    wrapper: Any
    search: Any
    certificates: list[Certificate]

    @classmethod
    def of(cls, model: Any) -> Subject:
        """Find the SVM in a fitted model."""
        check_is_fitted(model)
        part, steps, wrapper, search = model, [], None, None
        while True:
            if isinstance(part, Pipeline):
                steps += part.steps[:-1]
                part = part.steps[-1][1]
            elif hasattr(part, "cv_results_"):
                if not hasattr(part, "best_estimator_"):
                    raise ValueError(
                        f"model: {type(part).__name__} has no best_estimator_, because refit is "
                        "False: pass refit=True"
                    )
                search, part = part, part.best_estimator_
            elif isinstance(part, SVMWrapper):
                wrapper, part = part, part.estimator_
            else:
                break
        to_local = getattr(part, "to_local", None)
        machine = as_own(part if to_local is None else to_local())
        machine._check_fitted()
        found = list(getattr(machine, "certificates_", []))
        return cls(model, machine, Pipeline(steps) if steps else None, wrapper, search, found)

    @property
    def task(self) -> str:
        """Kind of the predictions: "classes", "targets" or "outliers"."""
        kinds = {"classes": Classifier, "targets": Regressor, "outliers": OutlierDetector}
        return next(name for name, kind in kinds.items() if isinstance(self.machine, kind))

    @property
    def online(self) -> bool:
        """True if the SVM holds its training rows."""
        return isinstance(self.machine, OnlineMachine)

    @property
    def optimal(self) -> bool:
        """True if the certificates prove that the model is optimal."""
        found = self.certificates
        return bool(found) and all(one.status == "optimal" for one in found)

    @property
    def classes(self) -> list[Any]:
        """Labels of the classes; empty for other tasks."""
        found: list[Any] = self.machine.classes_.tolist() if self.task == "classes" else []
        return found

    @property
    def layout(self) -> PairLayout:
        """Layout of the pairs of classes; one class for other tasks."""
        return expansion_of(self.machine).layout

    @property
    def problems(self) -> list[str]:
        """Names of the pairs of classes; one empty name if there is one problem."""
        if len(self.classes) <= 2:
            return [""]
        return [f"{one} against {other}" for one, other in combinations(self.classes, 2)]

    @property
    def coefficients(self) -> Floats:
        """Coefficients of the support vectors for each problem, of shape (problems, n_SV)."""
        expansion = expansion_of(self.machine)
        return expansion.layout.coefficients(expansion.coef, expansion.n_support)

    def rows(self, X: Any) -> Any:
        """Return rows as the SVM takes them: transformed and validated."""
        return self.machine._query(X if self.steps is None else self.steps.transform(X))

    def decisions(self, rows: Any) -> Floats:
        """Return decision values of shape (n, pairs), or predictions of shape (n, 1).

        Parameters
        ----------
        rows : ndarray or CSR
            Rows from `rows`.
        """
        machine = self.machine
        found: Floats
        if self.task == "outliers":
            found = machine._without_names(None).decision_function(rows)[:, None]
        else:
            found = machine._scorer(rows)().T + machine.intercept_
        return found

    def parameters(self) -> Iterable[tuple[str, Any]]:
        """Yield the parameters of the SVM that differ from their defaults."""
        default = type(self.machine)().get_params(deep=False)
        for name, value in self.machine.get_params(deep=False).items():
            if not (value is default[name] or _same(value, default[name])):
                yield name, value


def _same(one: Any, other: Any) -> bool:
    """Return whether two values of a parameter are equal; arrays are not compared."""
    plain = (bool, int, float, str, type(None))
    return isinstance(one, plain) and isinstance(other, plain) and one == other
