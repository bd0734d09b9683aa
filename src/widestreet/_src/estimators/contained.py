"""The SVM within an estimator that contains one."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from widestreet._src.estimators.model import KernelModel

FOREIGN = (
    "; convert a fitted SVM of scikit-learn by widestreet.io.from_sklearn, and for a search pass "
    "its best_estimator_"
)


@runtime_checkable
class ContainsSVM(Protocol):
    """An estimator whose predictions are those of an SVM within it."""

    def _svm(self) -> KernelModel:
        """Return the fitted SVM; raise NotFittedError if there is none."""


def svm_of(model: Any) -> Any:
    """Return the SVM of an estimator that contains one, and any other object as it is."""
    return model._svm() if isinstance(model, ContainsSVM) else model
