"""Compute how exact a saved model is, from its file and its training data.

The model is a .street file. Data are Parquet, Arrow, CSV or NumPy files with a column of labels or
targets (--target), or text in the format of LIBSVM. Prints the certificate. The exit status is 0 if
the model is optimal, else 1.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widestreet import Certificate

SUMMARY = "compute the certificate of a saved model from its training data"

_TABLES = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".tsv", ".gz", ".npy")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL", help="file of the model")
    add("data", metavar="DATA", help="file, folder or pattern of the training rows")
    add("--target", metavar="COLUMN", help="name or number of the column of labels or targets")
    add("--weight", metavar="COLUMN", help="name or number of the column of sample weights")
    add("--tol", type=float, metavar="TOL", help="largest violation; default: that of the model")
    add("--gap-tol", type=float, metavar="TOL", help="largest relative gap; default: the model's")


def run(options: argparse.Namespace) -> int:
    """Print the certificate and return 0 if the model is optimal, else 1."""
    from rich.console import Console

    import widestreet as ws

    model = ws.load(options.model)
    X, y, weight = _rows(options, model)
    found = ws.certify(model, X, y, weight, tol=options.tol, gap_tol=options.gap_tol, pairs=True)
    console = Console(highlight=False, soft_wrap=True)
    for name, certificate in zip(_names(model, found), found, strict=True):
        console.print(f"{name}{certificate}", markup=False)
    return 0 if all(one.status.success for one in found) else 1


def _names(model: Any, found: list[Certificate]) -> list[str]:
    """Return what stands before each certificate."""
    from itertools import combinations

    if len(found) == 1:
        return [""]
    return [f"{one} against {other}: " for one, other in combinations(model.classes_.tolist(), 2)]


def _rows(options: argparse.Namespace, model: Any) -> tuple[Any, Any, Any]:
    """Return rows, targets and weights of the data."""
    from sklearn.datasets import load_svmlight_file

    import widestreet as ws

    path = Path(options.data)
    if path.is_file() and path.suffix not in _TABLES:
        if options.weight is not None:
            raise ValueError("--weight: text in the format of LIBSVM has no weights")
        X, y = load_svmlight_file(path, n_features=model.n_features_in_)
        return X, y, None
    found = ws.open_rows(
        options.data,
        target=_column(options.target),
        weight=_column(options.weight),
        dtype="float32" if model.support_vectors_.dtype == "float32" else "float64",
    )
    return (*found, None) if len(found) == 2 else found


def _column(text: str | None) -> str | int | None:
    """Return a column as open_rows takes it: a number, or a name."""
    return int(text) if text is not None and text.isdigit() else text
