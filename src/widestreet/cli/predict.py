"""Predict the rows of a file with a saved model.

Prints text with commas: a header and one line per row. If --target names the labels or targets, or
DATA is text in the format of LIBSVM, the score is printed to the standard error stream. DATA may be
-, which is text with commas from the standard input.
"""

from __future__ import annotations

import argparse
import csv
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from widestreet.cli import models, tables
from widestreet.cli.streams import remark

SUMMARY = "predict the rows of a file with a saved model"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    models.configure(parser)
    add = parser.add_argument
    add("data", metavar="DATA", help="file of the rows, or -")
    tables.configure(parser)
    add("-o", "--output", type=Path, metavar="FILE", help="file of the predictions; default: print")
    add("--values", action="store_true", help="also write decision values")
    add("--probabilities", action="store_true", help="also write probabilities of the classes")
    add("--intervals", action="store_true", help="also write the ends of intervals")


def run(options: argparse.Namespace) -> int:
    """Write the predictions and return 0."""
    if options.output is not None:
        models.check_writable(options.output)
    model, rows = load_with_rows(options, options.data)
    _check_offers(model, options)
    columns = [("prediction", model.predict(rows.X))]
    if options.values:
        columns += _named("value", model.decision_function(rows.X), model)
    if options.probabilities:
        columns += _named("probability", model.predict_proba(rows.X), model)
    if options.intervals:
        X = model[:-1].transform(rows.X) if hasattr(model, "steps") else rows.X
        ends = _last(model).predict_interval(X)
        columns += [("low", ends[:, 0]), ("high", ends[:, 1])]
    target = sys.stdout
    opened = nullcontext(target) if options.output is None else options.output.open("w", newline="")
    with opened as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([name for name, _ in columns])
        writer.writerows(zip(*(values.tolist() for _, values in columns), strict=True))
    if rows.y is not None and hasattr(model, "score"):
        score = model.score(rows.X, rows.y)
        remark(f"score {score:.6g} of {len(rows.y):,} rows")
    return 0


def load_with_rows(options: argparse.Namespace, path: str) -> tuple[Any, tables.Rows]:
    """Return the model, and the rows of a file that it can take.

    A model of LIBSVM does not say how many columns its rows have, if the last ones are zero in all
    of its support vectors.
    """
    model = models.load_model(options)
    rows = read_for(model, options, path)
    if rows.X.shape[1] > model.n_features_in_ and not hasattr(model, "steps"):
        model = models.load_model(options, rows.X.shape[1])
    return model, rows


def read_for(model: Any, options: argparse.Namespace, path: str) -> tables.Rows:
    """Read the rows of a file that a model can take."""
    names = getattr(model, "feature_names_in_", None)
    return tables.read_rows(
        path,
        options.target,
        options.weight,
        features=None if names is None else list(names),
        width=model.n_features_in_,
    )


def _check_offers(model: Any, options: argparse.Namespace) -> None:
    """Raise ValueError if the model has not all that is wanted of it."""
    from widestreet import IntervalSVR

    if options.values and not hasattr(model, "decision_function"):
        raise ValueError("--values: the model has none")
    if options.probabilities and not hasattr(model, "predict_proba"):
        raise ValueError(
            "--probabilities: the model has none; train with widestreet fit --probabilities"
        )
    if options.intervals and not isinstance(_last(model), IntervalSVR):
        raise ValueError("--intervals: the model has none; train an IntervalSVR in Python")


def _last(model: Any) -> Any:
    """Return the estimator of a model, without preprocessing."""
    return model[-1] if hasattr(model, "steps") else model


def _named(name: str, values: Any, model: Any) -> list[tuple[str, Any]]:
    """Return columns with names."""
    if values.ndim == 1:
        return [(name, values)]
    labels = list(model.classes_) if values.shape[1] == len(model.classes_) else None
    labels = labels or list(range(values.shape[1]))
    return [(f"{name} {label}", values[:, k]) for k, label in enumerate(labels)]
