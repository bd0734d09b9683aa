"""The estimators of the playground, their parameters, and the rows that points make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from widestreet._src import checks
from widestreet._src.estimators.ensemble import EnsembleSVC
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.one_class import OneClassSVM
from widestreet._src.estimators.online.nu_svc import OnlineNuSVC
from widestreet._src.estimators.online.nu_svr import OnlineNuSVR
from widestreet._src.estimators.online.one_class import OnlineOneClassSVM
from widestreet._src.estimators.online.svc import OnlineSVC
from widestreet._src.estimators.online.svr import OnlineSVR
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR

Targets: TypeAlias = Literal["labels", "values", "none"]
Parameters: TypeAlias = Mapping[str, Any]

KERNELS = {"rbf": "Gaussian", "laplacian": "Laplacian", "linear": "linear"}
OF_THE_KERNEL = ("kernel", "gamma")  # a change of these is a refit


@dataclass(frozen=True)
class Point:
    """A point of the plane.

    Attributes
    ----------
    id : int
    x, y : float
    label : int
        Class of the point, 0 or 1.
    """

    id: int
    x: float
    y: float
    label: int


@dataclass(frozen=True)
class Slider:
    """Range of a parameter.

    Attributes
    ----------
    title : str
    low, high, start : float
    logarithmic : bool
    """

    title: str
    low: float
    high: float
    start: float
    logarithmic: bool = False


SLIDERS = {
    "C": Slider("C, penalty of violations", 0.01, 1000.0, 10.0, logarithmic=True),
    "gamma": Slider("gamma, inverse width of the kernel", 0.1, 100.0, 4.0, logarithmic=True),
    "epsilon": Slider("epsilon, half the width of the tube", 0.0, 0.5, 0.1),
    "nu": Slider("nu, fraction of support vectors", 0.01, 0.9, 0.2),
}


@dataclass(frozen=True)
class Machine:
    """An estimator of the playground.

    Attributes
    ----------
    title : str
    batch : type
        Estimator that is fitted to all rows at once.
    online : type or None
        Estimator that follows changes; None if every change is a refit.
    sliders : tuple of str
        Parameters that sliders set.
    targets : {"labels", "values", "none"}
        Whether points are rows of two columns with a label, rows of one column with a value, or
        rows of two columns.
    """

    title: str
    batch: type[Any]
    online: type[Any] | None
    sliders: tuple[str, ...]
    targets: Targets

    def rows(self, points: Sequence[Point]) -> tuple[Any, ...]:
        """Return the arguments X and y of `fit` for these points; X alone without targets."""
        if self.targets == "values":
            return [[p.x] for p in points], [p.y for p in points]
        X = [[p.x, p.y] for p in points]
        return (X, [p.label for p in points]) if self.targets == "labels" else (X,)


MACHINES = {
    "svc": Machine("C-SVC", SVC, OnlineSVC, ("C", "gamma"), "labels"),
    "nu_svc": Machine("nu-SVC", NuSVC, OnlineNuSVC, ("nu", "gamma"), "labels"),
    "svr": Machine("epsilon-SVR", SVR, OnlineSVR, ("C", "epsilon", "gamma"), "values"),
    "nu_svr": Machine("nu-SVR", NuSVR, OnlineNuSVR, ("C", "nu", "gamma"), "values"),
    "one_class": Machine("one-class SVM", OneClassSVM, OnlineOneClassSVM, ("nu", "gamma"), "none"),
    "ensemble": Machine("EnsembleSVC", EnsembleSVC, None, ("gamma",), "labels"),
}

TABS = {
    "classification": ("svc", "nu_svc"),
    "regression": ("svr", "nu_svr"),
    "one-class": ("one_class",),
    "ensemble": ("ensemble",),
}


def checked_parameters(machine: str, given: Parameters) -> dict[str, Any]:
    """Return parameters of an estimator within the ranges of their sliders, or raise ValueError."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name == "kernel":
            found[name] = checks.require_choice(name, value, tuple(KERNELS))
        elif name in MACHINES[machine].sliders:
            slider = SLIDERS[name]
            found[name] = checks.require_real(name, value, least=slider.low, most=slider.high)
        else:
            raise ValueError(f"{MACHINES[machine].title} has no parameter {name!r}")
    return found


def starting_parameters(machine: str) -> dict[str, Any]:
    """Return the parameters with which an estimator begins."""
    return {"kernel": "rbf"} | {name: SLIDERS[name].start for name in MACHINES[machine].sliders}
