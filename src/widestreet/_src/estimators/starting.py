"""Starting points from other models."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._src.arrays import Codes, Floats
from widestreet._src.device.lent import LentArray
from widestreet._src.estimators.locating import coefficients_over
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import DualFormulation, NuSVC

_NEEDED = ("support_", "support_vectors_", "dual_coef_", "shape_fit_", "kernel")


def check_start(model: Any, start: Any, *, stored: bool = False) -> None:
    """Raise TypeError or ValueError if a fit cannot start from a model.

    Parameters
    ----------
    model : OptimalFit
    start : object
        None or another fitted SVM.
    stored : bool
        True if the rows are not in memory.
    """
    if start is None:
        return
    if hasattr(start, "steps"):
        raise TypeError(
            "start is a pipeline: pass its last step, start=pipeline[-1], and the rows that this "
            "step was trained on, X=pipeline[:-1].transform(X)"
        )
    names = {kind.__name__.removeprefix("Online") for kind in type(start).__mro__}
    known = type(model).__name__ in names
    if known and not hasattr(start, "support_"):
        raise TypeError(
            f"start must be a fitted {type(model).__name__}, but {start!r} is not fitted: call its "
            "fit first"
        )
    if not known or not all(hasattr(start, name) for name in _NEEDED):
        raise TypeError(
            f"start must be a fitted {type(model).__name__} of widestreet, of scikit-learn or of a "
            f"library with the same attributes, got {start!r}"
        )
    if stored:
        raise ValueError("start must be None for rows that are not in memory")


def starting_lines(
    model: Any,
    start: Any,
    X: Any,
    target: Floats | Codes,
    box: Floats,
    formulation: DualFormulation,
) -> Floats:
    """Return the lines of `dual_coef_` of another model over all rows, as a starting point.

    They are scaled to the parameters of this fit, and not divided by margins.

    Parameters
    ----------
    model : OptimalFit
        Estimator that is fitted.
    start : object
        Fitted SVM with the attributes of scikit-learn.
    X : ndarray, CSR or LentArray
        Validated rows.
    target : ndarray
        Class index or target of each row.
    box : ndarray
        Width of the box of each row.
    formulation : DualFormulation
    """
    if start.shape_fit_[1] != X.shape[1]:
        raise ValueError(
            f"start was trained on {start.shape_fit_[1]} columns, but X has {X.shape[1]}"
        )
    labels = hasattr(model, "class_weight")
    code = np.asarray(target, dtype=np.float64)
    classes = int(code.max()) + 1 if labels else 1
    if labels and len(start.n_support_) != classes:
        raise ValueError(f"start has {len(start.n_support_)} classes, but y has {classes}")
    X = np.asarray(X) if isinstance(X, LentArray) else X
    lines = coefficients_over("start", start, X, code, box, labels=labels)
    if isinstance(formulation, NuSVC):
        return _without_margins(lines, np.asarray(target, dtype=np.int64), box, formulation)
    before = getattr(start, "C", 1.0) if hasattr(model, "C") else 1.0
    return lines * (formulation.scale / float(getattr(start, "_scale", before)))


def _without_margins(lines: Floats, code: Codes, box: Floats, formulation: NuSVC) -> Floats:
    """Multiply coefficients of nu-SVC by the margins of their pairs."""
    layout = PairLayout(int(code.max()) + 1)
    members = [np.flatnonzero(code == c) for c in range(layout.classes)]
    margins = [
        formulation.margin(lines[layout.line(i, j), members[i]], box[members[i]], box[members[j]])
        for i, j in layout.pairs
    ]
    found: Floats = lines * layout.by_line_and_class(np.array(margins))[:, code]
    return found
