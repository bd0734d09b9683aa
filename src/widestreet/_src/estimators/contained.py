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


@runtime_checkable
class AddsToSVM(Protocol):
    """An estimator that adds something to the predictions of its `estimator_`."""

    _adds: str
    """Noun, in the plural, of what it adds: "probabilities" or "intervals"."""


def require_exportable(model: Any) -> None:
    """Raise TypeError for a model of which a file of another format could hold the SVM only."""
    if isinstance(model, AddsToSVM):
        name = type(model).__name__
        raise TypeError(f"{name}: pass model.estimator_; {model._adds} are not exported")
