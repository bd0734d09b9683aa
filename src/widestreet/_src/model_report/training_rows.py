"""Checks that given rows are those that a model was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats
from widestreet._src.kernels.kernels import Precomputed
from widestreet._src.model_report.subject import Subject

_REMEDY = "pass all rows of the fit, in the order of the fit"


def require(subject: Subject, rows: Any, target: Any, weight: Floats) -> None:
    """Raise ValueError if rows are not those of the fit, with its labels and positive weights.

    A model holds its support vectors only, so that changes of other rows are not found.

    Parameters
    ----------
    subject : Subject
    rows : ndarray or CSR
        Rows as the SVM takes them.
    target : ndarray or None
        Number of the class of each row, or its target.
    weight : ndarray
    """
    machine = subject.machine
    known = int(machine.shape_fit_[0])
    if rows.shape[0] != known:
        hint = "" if subject.certificates else " (a LIBSVM file names the support vectors only)"
        raise ValueError(
            f"X has {rows.shape[0]} rows, but the model was trained on {known}{hint}: {_REMEDY}"
        )
    support = np.asarray(machine.support_, dtype=np.int64)
    if (support >= 0).all():  # compact replaces those of linear models by weights of the features
        _require_vectors(subject, rows[support])
        if subject.task == "classes":
            own = np.repeat(np.arange(len(subject.classes)), machine.n_support_)
            if not np.array_equal(target[support], own):
                raise ValueError(
                    f"y has other labels for the support vectors than the model: {_REMEDY}"
                )
        if not (weight[support] > 0).all():
            raise ValueError(
                "sample_weight is zero for support vectors: pass the weights of the fit"
            )
    _require_count(subject, target, weight)


def _require_vectors(subject: Subject, rows: Any) -> None:
    """Raise ValueError if rows are not the support vectors.

    The transformers of a pipeline may round in another way during the fit.
    """
    machine = subject.machine
    if isinstance(machine._kernel, Precomputed):
        return
    vectors = machine.support_vectors_
    tolerance = 0.0
    if subject.steps is not None and len(machine.support_):
        tolerance = float(np.sqrt(np.finfo(vectors.dtype).eps) * abs(vectors).max())
    if sparse.issparse(rows) or sparse.issparse(vectors):
        rows, vectors = sparse.csr_matrix(rows), sparse.csr_matrix(vectors)
    if rows.shape != vectors.shape or (rows.size and abs(rows - vectors).max() > tolerance):
        before = "" if subject.steps is None else ", after the steps of the pipeline,"
        raise ValueError(
            f"the rows support_ of X{before} are not the support vectors of the model: {_REMEDY}"
        )


def _require_count(subject: Subject, target: Any, weight: Floats) -> None:
    """Raise ValueError if the certificate covers another number of rows of positive weight."""
    examined = [one.n_rows for one in subject.certificates]
    if subject.online or not examined or min(examined) == 0:
        return
    if subject.task == "classes":
        weight = weight * subject.machine.class_weight_[target]
    used = int(np.count_nonzero(weight > 0))
    of_fit = sum(examined) // max(1, len(subject.classes) - 1)
    if used != of_fit:
        raise ValueError(
            f"{used} rows have a positive weight, but {of_fit} had one in the fit: pass the "
            "weights of the fit as sample_weight="
        )
