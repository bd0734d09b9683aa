"""Decision values and predictions of models that were not trained on the row.

Rows are removed one by one, exactly, by a homotopy. The page says why not where that takes too long
or there is no homotopy.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.calibration.removals import cost_of_removals, removable
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.estimators.ensemble import EnsembleSVC
from widestreet._src.estimators.leave_one_out import frozen_twin
from widestreet._src.model_report.markup import in_time
from widestreet._src.model_report.sample import Sample
from widestreet._src.model_report.subject import Subject

_STEPS_PER_SECOND = 1e9  # multiply-adds of `cost_of_removals`


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Results of leave-one-out, or the reason why they were not computed.

    Attributes
    ----------
    values : ndarray or None
        Decision values of shape (n, pairs), or predictions of shape (n, 1), of each row by the
        model trained on all others.
    reason : str
        Why there are none.
    """

    values: Floats | None
    reason: str = ""


def leave_one_out(subject: Subject, train: Sample | None, max_time: float) -> HeldOut:
    """Predict each training row with the model trained on all others.

    Parameters
    ----------
    subject : Subject
    train : Sample or None
        Training rows, if they are known.
    max_time : float
        Seconds that this may take.
    """
    if train is None:
        return HeldOut(None, "the training rows are not known: pass them as X= and y=")
    machine = subject.machine
    if isinstance(machine, EnsembleSVC):
        return HeldOut(None, "an ensemble is not the optimum of a problem, so that the ensemble "
                       "without a row can only be found by training it again")  # fmt: skip
    if hasattr(machine, "compaction_"):
        return HeldOut(None, "the model has been made smaller by compact and is no optimum")
    if not removable(machine):
        return HeldOut(None, "rows can be removed exactly only for a linear loss and a positive "
                       "semidefinite kernel with a name")  # fmt: skip
    if _lone_class(subject, train):
        return HeldOut(None, "a class has fewer than two training rows")
    forecast = cost_of_removals(machine, train.weight) / _STEPS_PER_SECOND
    if forecast > max_time:
        return HeldOut(None, f"it would take about {in_time(forecast)}, and max_time is "
                       f"{in_time(max_time)}: raise max_time")  # fmt: skip
    try:
        return HeldOut(_values(subject, train, Budget(max_time)))
    except OutOfBudget:
        return HeldOut(None, f"max_time, which is {in_time(max_time)}, was over: raise max_time")


def _lone_class(subject: Subject, train: Sample) -> bool:
    """Return whether a row is the only one of its class, or of all."""
    if subject.task != "classes":
        return train.n < 2
    return int(np.bincount(train.target, minlength=len(subject.classes)).min()) < 2


def _values(subject: Subject, train: Sample, budget: Budget) -> Floats:
    """Return the values of all rows; OutOfBudget is raised when the time is over."""
    machine = subject.machine
    twin = copy(machine) if subject.online else frozen_twin(machine, budget)
    given = (train.target,) if subject.task == "targets" else ()
    if subject.task == "classes":
        given = (machine.classes_[train.target],)
        twin.set_params(decision_function_shape="ovo", break_ties=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about scales and margins, given before
        if not subject.online:
            twin.fit(train.rows, *given, sample_weight=train.weight)
        values: Floats = twin._leave_one_out(budget.look_at_end)
    return values.reshape(len(values), -1)
