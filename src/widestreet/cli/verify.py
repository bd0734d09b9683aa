"""Compute how exact a saved model is, from its file and its training data.

The model is a .street file, a .skops file, or a text model of LIBSVM, which has no parameters C, nu
and epsilon: state them. Data are Parquet, Arrow, CSV or NumPy files with a column of labels or
targets (--target), or text in the format of LIBSVM. Prints the certificate. The exit status is 0 if
the model is optimal, else 1.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from widestreet.cli import models, tables
from widestreet.cli.predict import read_for
from widestreet.cli.streams import result

if TYPE_CHECKING:
    from widestreet import Certificate

SUMMARY = "compute the certificate of a saved model from its training data"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    models.configure(parser)
    add = parser.add_argument
    add("data", metavar="DATA", help="file, folder or pattern of the training rows")
    tables.configure(parser)
    add("--tol", type=float, metavar="TOL", help="largest violation; default: that of the model")
    add("--gap-tol", type=float, metavar="TOL", help="largest relative gap; default: the model's")


def run(options: argparse.Namespace) -> int:
    """Print the certificate and return 0 if the model is optimal, else 1."""
    import widestreet as ws

    model = models.load_model(options)
    X, y, weight = _rows(options, model)
    if X.shape[1] > model.n_features_in_ and not hasattr(model, "steps"):
        model = models.load_model(options, X.shape[1])
    model, X = _machine(model, X)
    found = ws.certify(model, X, y, weight, tol=options.tol, gap_tol=options.gap_tol, pairs=True)
    for name, certificate in zip(_names(model, found), found, strict=True):
        result(f"{name}{certificate}")
    compact = hasattr(model, "compaction_")  # an approximation, whatever its figures are
    return 0 if all(one.status.success for one in found) and not compact else 1


def _machine(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the SVM in a model, and the rows as it takes them."""
    from widestreet._src.model_report.subject import Subject

    subject = Subject.of(model)
    return subject.machine, X if subject.steps is None else subject.rows(X)


def _names(model: Any, found: list[Certificate]) -> list[str]:
    """Return what stands before each certificate."""
    if len(found) == 1:
        return [""]
    return [f"{one} against {other}: " for one, other in combinations(model.classes_.tolist(), 2)]


def _rows(options: argparse.Namespace, model: Any) -> tuple[Any, Any, Any]:
    """Return rows, targets and weights of the data."""
    import widestreet as ws
    from widestreet._src.model_report.subject import Subject

    subject = Subject.of(model)
    text = Path(options.data).is_file() and not options.data.lower().endswith(tables.TABLES)
    if subject.steps is not None or text:
        rows = read_for(model, options, options.data)
        X, y, weight = rows.X, rows.y, rows.weight
    else:
        X, y, *weights = ws.open_rows(
            options.data,
            target=tables.column(options.target),
            weight=tables.column(options.weight),
            dtype="float32" if subject.machine.support_vectors_.dtype == "float32" else "float64",
        )
        weight = weights[0] if weights else None
    if y is None and subject.task != "outliers":
        raise ValueError(
            "--target is missing: name the column of the labels or targets, or its number in .npy "
            "files (-1 for the last)"
        )
    return X, y, weight
