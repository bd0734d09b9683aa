"""The measurements of the paper on ensembles: ensembles, and SVMs whose C is chosen.

All methods have the same Gaussian kernel, whose width follows from the training rows. A path or a
grid of SVMs is trained, and one of them is chosen by the test rows, as SVM (BEST) of the paper, or
by the leave-one-out bound, as SVM (LOO). Cross-validation chooses another one. Times are those of
training alone, for cross-validation including its scores.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from widestreet import SVC, EnsembleSVC, regularization_path
from widestreet._experiments.harness.measurement import TOL, Measurement
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.solver import CACHE_MB
from widestreet._experiments.harness.task import Split
from widestreet._experiments.papers.ensemble_data import redrawn
from widestreet._experiments.papers.paper import Problem

DRAWN_POINTS = 80  # of a curve


@dataclass(frozen=True)
class Classification(Problem):
    """Rows of two classes.

    Attributes
    ----------
    drawn : bool
        Whether every seed deals out the rows anew; else they are split as published.
    """

    drawn: bool = False

    def parameters(self) -> str:
        return "gamma 1 / beta"


class Clock:
    """A context that adds up the time spent inside of it.

    Attributes
    ----------
    seconds, processor : float
        By the wall clock, and of all processors.
    """

    def __init__(self) -> None:
        self.seconds = self.processor = 0.0

    def __enter__(self) -> Clock:
        self._begun = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds += time.perf_counter() - self._begun[0]
        self.processor += time.process_time() - self._begun[1]

    @property
    def facts(self) -> Record:
        return {"seconds": self.seconds, "processor": self.processor}


def gamma_of(X: Any) -> float:
    """1 / beta of the paper: the mean squared distance of the rows to their mean."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = X.multiply(X).sum() if sparse.issparse(X) else np.square(X).sum()
    return 1.0 / float(square / X.shape[0] - mean @ mean)


def judged(model: Any, split: Split) -> Record:
    """Return the scores and the certificate of a model."""
    proof = model.certificate_
    return {
        "accuracy": float(np.mean(model.predict(split.X_test) == split.y_test)),
        "n_sv": len(model.support_),
        "certificate": proof.status,
        "violation": proof.kkt_violation,
        "relative_gap": proof.relative_gap,
    }


# -- ensembles -------------------------------------------------------------------------------------


def ensemble(split: Split, one: Measurement) -> Record:
    """Train it, or one of its members."""
    model, clock = EnsembleSVC(**one.method.parameters, n_jobs=one.threads, random_state=0), Clock()
    with clock:
        model.fit(split.X, split.y)
    last = model.trace_[-1].notes
    return judged(model, split) | clock.facts | {"steps": steps_of(model), "objective": last["rho"]}


def steps_of(model: EnsembleSVC) -> int:
    """Return the number of steps taken."""
    return len(model.trace_) - 1


def endings(split: Split, one: Measurement) -> Record:
    """Test errors of the ensemble and of its last member, for earlier and later ends."""
    found = []
    for epsilon in one.method.parameters["epsilons"]:
        cell: Record = {"epsilon": epsilon}
        for aggregate in ("last", "ensemble"):
            chosen = {"learning_rate": "literal", "epsilon": epsilon, "aggregate": aggregate}
            model = EnsembleSVC(**chosen, folds=None, n_jobs=one.threads).fit(split.X, split.y)
            cell[aggregate] = 1.0 - float(model.score(split.X_test, split.y_test))
        found.append(cell | {"steps": steps_of(model)})
    return judged(model, split) | {"cells": found}


def curves(split: Split, one: Measurement) -> Record:
    """The objective step by step: with rates that follow the data, and with fixed ones."""
    asked, m = one.method.parameters, len(split.y)
    found = []
    for rate in ("literal", "adaptive"):
        model = EnsembleSVC(
            learning_rate=rate, folds=None, max_iter=asked["steps"], n_jobs=one.threads
        )
        found.append({"rate": rate} | curve(model, split))
    for scale, factor in (("1", 1), ("m", m), ("2m", 2 * m)):
        for rate in asked["rates"]:
            eta = rate * factor
            model = EnsembleSVC(
                learning_rate=eta, folds=None, max_iter=asked["steps"], n_jobs=one.threads
            )
            found.append({"rate": rate, "scale": scale, "eta": eta} | curve(model, split))
    return judged(model, split) | {"curves": found}


def curve(model: EnsembleSVC, split: Split) -> Record:
    """Return some points of a curve, the last one included, and whether the run ended by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(split.X, split.y)
    steps = steps_of(model)
    at = np.unique(np.geomspace(1, steps + 1, DRAWN_POINTS).round().astype(int)) - 1
    rho = [model.trace_[int(step)].notes["rho"] for step in at]
    ended = model.certificate_.status != "iteration_limit"
    return {"steps": steps, "ended": ended, "at": at.tolist(), "objective": rho}


# -- SVMs with a C ---------------------------------------------------------------------------------


def path(split: Split, one: Measurement) -> Record:
    """Train all SVMs between two values of C and choose among them."""
    asked, clock = one.method.parameters, Clock()
    low, high = asked["between"]
    shared: dict[str, Any] = {"gamma": gamma_of(split.X), "n_jobs": one.threads}
    with clock:
        found = regularization_path(split.X, split.y, C_min=low, C_max=high, **shared)
    breaks = found.breakpoints
    some = np.unique(np.linspace(0, len(breaks) - 1, asked["values"]).round().astype(int))
    models = ((float(C), found.model_at(float(C))) for C in breaks[some])
    return chosen(models, split) | clock.facts | {"steps": len(breaks)}


def grid(split: Split, one: Measurement) -> Record:
    """Train SVMs with some values of C, each started where the last one ended."""
    values, clock = one.method.parameters["grid"], Clock()
    shared: dict[str, Any] = {"gamma": gamma_of(split.X), "n_jobs": one.threads}
    model = SVC(warm_start=True, random_state=0, **shared)

    def fitted(C: float) -> SVC:
        with clock:
            return model.set_params(C=C).fit(split.X, split.y)

    record = chosen(((C, fitted(C)) for C in values), split)
    return record | clock.facts | {"steps": len(values)}


def chosen(models: Iterable[tuple[float, Any]], split: Split) -> Record:
    """Choose the best SVM by the test rows, and by the leave-one-out bound."""
    every = [
        judged(model, split) | {"C": C, "bound": doubtful(model, split)} for C, model in models
    ]
    best = max(every, key=lambda one: one["accuracy"])  # the first of several
    loo = min(every, key=lambda one: one["bound"])
    found = {"loo_accuracy": loo["accuracy"], "loo_C": loo["C"], "bound": loo["bound"]}
    return best | found | {"tried": [one["accuracy"] for one in every]}


def doubtful(model: Any, split: Split) -> float:
    """The leave-one-out bound of `RegularizationPath.leave_one_out_bounds`; K(x, x) is 1 here."""
    own, coef = np.zeros(len(split.y)), model.dual_coef_
    own[model.support_] = np.abs(coef.toarray() if sparse.issparse(coef) else coef)[0]
    side = np.where(split.y == model.classes_[1], 1, -1)
    return float(np.mean(side * model.decision_function(split.X) <= own))


def cross_validation(split: Split, one: Measurement) -> Record:
    """Choose C by the mean accuracy of some folds, and train with all rows."""
    asked, clock = one.method.parameters, Clock()
    right = np.zeros(len(asked["grid"]))
    folds = StratifiedKFold(asked["folds"], shuffle=True, random_state=one.seed)
    with clock:
        for train, test in folds.split(split.X, split.y):
            model = _machine(split, one)
            for place, C in enumerate(asked["grid"]):
                model.set_params(C=C).fit(split.X[train], split.y[train])
                right[place] += model.score(split.X[test], split.y[test])
        C = asked["grid"][int(np.argmax(right))]
        model = _machine(split, one).set_params(C=C).fit(split.X, split.y)
    accuracy = float(model.score(split.X_test, split.y_test))
    found = {"accuracy": accuracy, "n_sv": len(model.support_), "C": C}
    return found | clock.facts | {"certificate": "none of its own", "steps": fits(asked)}


def fits(asked: Mapping[str, Any]) -> int:
    """Return the number of fits of cross-validation."""
    return int(asked["folds"]) * len(asked["grid"]) + 1


def _machine(split: Split, one: Measurement) -> Any:
    """Return an SVC of either library; ours starts where its last fit ended."""
    gamma = gamma_of(split.X)
    if one.method.parameters["library"] == "scikit-learn":
        return svm.SVC(gamma=gamma, tol=TOL, cache_size=CACHE_MB)
    return SVC(gamma=gamma, tol=TOL, warm_start=True, n_jobs=one.threads, random_state=0)


# -- all of them -----------------------------------------------------------------------------------

WORK = {
    "Ensemble": ensemble,
    "Endings": endings,
    "Curves": curves,
    "Path": path,
    "Grid": grid,
    "CrossValidation": cross_validation,
}


def measure(problem: Classification, split: Split, one: Measurement) -> Record:
    """Measure what the method's strategy names."""
    split = redrawn(split, one.seed) if problem.drawn else split
    return WORK[one.method.strategy](split, one)
