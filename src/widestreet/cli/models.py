"""Models from files and to files, by what the files contain and by their endings."""

from __future__ import annotations

import argparse
import os
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

ENDINGS = {
    ".street": "one estimator of widestreet",
    ".skops": "an estimator or a pipeline, for skops",
    ".onnx": "a model for ONNX runtimes",
    ".model": "a text model of LIBSVM",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the model, and what a model of LIBSVM does not say."""
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL", help="file of the model")
    add("-C", type=float, default=1.0, help="C of a model of LIBSVM (%(default)s)")
    add("--nu", type=float, default=0.5, help="nu of a model of LIBSVM (%(default)s)")
    add("--epsilon", type=float, default=0.1, help="epsilon of a model of LIBSVM (%(default)s)")


def load_model(options: argparse.Namespace, columns: int | None = None) -> Any:
    """Read the model of a command.

    Parameters
    ----------
    options : argparse.Namespace
        Values of the arguments that `configure` declared.
    columns : int or None
        Number of columns of the rows, if a model of LIBSVM may have fewer.
    """
    import widestreet as ws

    path: Path = options.model
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    with path.open("rb") as file:
        start = file.read(8)
    if start == b"svm_type":
        given = {"C": options.C, "nu": options.nu, "epsilon": options.epsilon}
        return ws.io.from_libsvm(path, n_features=columns, **given)
    if _is_skops(path):
        return skops(f"reading {path}").load(path, trusted=ws.trusted_types())
    return ws.load(path)


def save_model(model: Any, path: Path) -> None:
    """Write a model in the format of the ending of a file."""
    import widestreet as ws

    check_ending(path)
    if path.suffix == ".skops":
        content: bytes = skops(f"writing {path.name}").dumps(model)
        _replace(path, content)
        return
    if path.suffix == ".onnx":
        if hasattr(model, "predict_proba"):
            raise ValueError(
                f"{path.name}: the format has no probabilities: write a .skops file, "
                "or fit without --probabilities"
            )
        precision = "float32" if hasattr(model, "steps") else "float64"  # imputers need float32
        _replace(path, ws.io.to_onnx(model, precision=precision).SerializeToString())
        return
    if hasattr(model, "steps"):
        raise ValueError(
            f"{path.name}: such a file holds one estimator, but the model is a pipeline with "
            "preprocessing: write a .skops file, or fit with --preprocess none"
        )
    if path.suffix == ".street":
        model.save(path)
    else:
        ws.io.to_libsvm(model, path)


def _replace(path: Path, content: bytes) -> None:
    """Write a file that is the old one or the complete new one at any time."""
    from widestreet._src.persistence.storage import replacing

    with replacing(str(path)) as file:
        file.write(content)


def check_ending(path: Path) -> None:
    """Raise ValueError if the ending of a file names no format of models."""
    if path.suffix not in ENDINGS:
        known = ", ".join(f"{ending} ({what})" for ending, what in ENDINGS.items())
        raise ValueError(f"{path}: the ending must be one of {known}")


def check_writable(path: Path) -> None:
    """Raise ValueError if a file that a command is to write cannot be written."""
    if not path.parent.is_dir():
        raise ValueError(f"--output: there is no directory {str(path.parent)!r}")
    if path.is_dir():
        raise ValueError(f"--output: {path} is a directory")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"--output: there is no permission to write {path}")


def skops(reason: str) -> ModuleType:
    """Return skops.io, or raise ValueError that says how to install it."""
    try:
        import skops.io
    except ImportError:
        raise ValueError(f"{reason} needs skops: pip install 'widestreet[cli]'") from None
    found: ModuleType = skops.io
    return found


def _is_skops(path: Path) -> bool:
    """Return whether a file is an archive of skops; those of widestreet are archives as well."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "schema.json" in archive.namelist()
