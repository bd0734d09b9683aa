"""Compute how exact a saved model is, from its file and its training data.

The model is a .street file or a text model of LIBSVM, which has no parameters C, nu and epsilon:
state them. Data are Parquet, Arrow, CSV or NumPy files with a column of labels or
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
    add("-C", type=float, default=1.0, help="C of a model of LIBSVM (%(default)s)")
    add("--nu", type=float, default=0.5, help="nu of a model of LIBSVM (%(default)s)")
    add("--epsilon", type=float, default=0.1, help="epsilon of a model of LIBSVM (%(default)s)")
    add("--tol", type=float, metavar="TOL", help="largest violation; default: that of the model")
    add("--gap-tol", type=float, metavar="TOL", help="largest relative gap; default: the model's")


def run(options: argparse.Namespace) -> int:
    """Print the certificate and return 0 if the model is optimal, else 1."""
    from rich.console import Console

    import widestreet as ws

    model = _model(options)
    X, y, weight = _rows(options, model)
    if X.shape[1] > model.n_features_in_:
        model = _model(options, X.shape[1])
    found = ws.certify(model, X, y, weight, tol=options.tol, gap_tol=options.gap_tol, pairs=True)
    console = Console(highlight=False, soft_wrap=True)
    for name, certificate in zip(_names(model, found), found, strict=True):
        console.print(f"{name}{certificate}", markup=False)
    compact = hasattr(model, "compaction_")  # an approximation, whatever its figures are
    return 0 if all(one.status.success for one in found) and not compact else 1


def _model(options: argparse.Namespace, columns: int | None = None) -> Any:
    """Read the model; one of LIBSVM may have fewer columns than its rows, which are `columns`."""
    import widestreet as ws

    if not options.model.is_file():
        raise FileNotFoundError(f"there is no file {str(options.model)!r}")
    with options.model.open("rb") as file:
        if file.read(8) != b"svm_type":
            return ws.load(options.model)
    given = {"C": options.C, "nu": options.nu, "epsilon": options.epsilon}
    return ws.io.from_libsvm(options.model, n_features=columns, **given)


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
    from widestreet._src.estimators.outlier_detector import OutlierDetector

    path = Path(options.data)
    if path.is_file() and path.suffix not in _TABLES:
        if options.weight is not None:
            raise ValueError("--weight: text in the format of LIBSVM has no weights")
        X, y = load_svmlight_file(path)
        X.resize((X.shape[0], max(X.shape[1], model.n_features_in_)))
        return X, y, None
    found = ws.open_rows(
        options.data,
        target=_column(options.target),
        weight=_column(options.weight),
        dtype="float32" if model.support_vectors_.dtype == "float32" else "float64",
    )
    if found[1] is None and not isinstance(model, OutlierDetector):
        raise ValueError(
            "--target is missing: name the column of the labels or targets, or its number in .npy "
            "files (-1 for the last)"
        )
    return (*found, None) if len(found) == 2 else found


def _column(text: str | None) -> str | int | None:
    """Return a column as open_rows takes it: a number, or a name."""
    return int(text) if text is not None and text.removeprefix("-").isdigit() else text
