"""Train an SVM on the rows of a file and write it to another one.

Rows are CSV, Parquet, Arrow or NumPy files, or text in the format of LIBSVM. Missing numbers are
imputed, text becomes columns of zeros and ones, and columns are scaled, by a scikit-learn pipeline
(--preprocess none: no preprocessing; --python prints it as code). A target of text or of few
different numbers is classified, other targets are regressed, and without a target the SVM learns
what usual rows are. Prints the certificate. The exit status is 0 if the model is optimal, or an
ensemble with all its members, else 1. Ctrl-C keeps the best model so far, with status 130; a second
Ctrl-C stops at once.
"""

from __future__ import annotations

import argparse
import ast
import os
import signal
import sys
import warnings
from inspect import signature
from pathlib import Path
from typing import Any

from widestreet.cli import models, tables
from widestreet.cli.streams import remark, result

SUMMARY = "train an SVM on the rows of a file"

_OUTPUT = Path("model.skops")
_MOST_CLASSES = 50  # different numbers of a target that is classified
_ROUNDING = 1e-12  # of the largest target: a smaller deviation is that of a constant
_KINDS = {
    "svc": "SVC",
    "nusvc": "NuSVC",
    "svr": "SVR",
    "nusvr": "NuSVR",
    "oneclass": "OneClassSVM",
    "ensemble": "EnsembleSVC",
}
_OPTIONS = ("C", "kernel", "gamma", "nu", "epsilon", "class_weight", "max_time", "random_state")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("data", metavar="DATA", help="file of the training rows")
    tables.configure(parser)
    add("--drop", action="append", default=[], metavar="COLUMN",
        help="column to leave out; may be repeated")  # fmt: skip
    what = f"file of the model: .skops, .street, .model or .onnx; default: {_OUTPUT}, if it is new"
    add("-o", "--output", type=Path, metavar="FILE", help=what)
    add("--estimator", choices=tuple(_KINDS), help="SVM to train; default: by the target")
    add("--preprocess", choices=("auto", "none"), default="auto", help="default: %(default)s")
    add("-C", type=float, help="penalty of errors; default: 1, for numbers their deviation")
    add("--kernel", help="rbf, laplacian, linear, poly or sigmoid")
    add("--gamma", type=_value, help="coefficient of the kernel: a number, scale or auto")
    add("--nu", type=float, help="part of the rows that are errors, for nusvc, nusvr and oneclass")
    add("--epsilon", type=float,
        help="half of the width of the tube; default: a tenth of the deviation")  # fmt: skip
    add("--class-weight", choices=("balanced",), help="factors of C for the classes")
    add("--max-time", type=float, metavar="SECONDS", help="limit on the training time")
    add("--seed", type=int, dest="random_state", metavar="N", help="seed of the order of the rows")
    add("--set", action="append", default=[], type=_pair, dest="others", metavar="NAME=VALUE",
        help="any other parameter of the SVM; may be repeated")  # fmt: skip
    add("--tune", action="store_true", help="choose C, gamma and epsilon by cross-validation")
    add("--probabilities", action="store_true", help="calibrate probabilities of the classes")
    add("--python", action="store_true", help="also print the model as Python code")
    add("--quiet", action="store_true", help="show no progress")


def run(options: argparse.Namespace) -> int:
    """Train, write the model, and return 0 if it is optimal, 130 after Ctrl-C, else 1."""
    from sklearn.pipeline import Pipeline

    from widestreet._src.interrupts import noticed, undisturbed
    from widestreet.cli.preprocessing import as_python

    _settle_output(options)
    rows = tables.read_rows(options.data, options.target, options.weight, drop=options.drop)
    name = options.estimator or _guessed(rows.y)
    if rows.y is None and name != "oneclass":
        raise ValueError(f"--estimator {name} needs --target, the column of labels or targets")
    machine, X = _machine(name, options, rows.y, rows.weight), rows.X
    _tell(options, f"{X.shape[0]:,} rows, {X.shape[1]:,} columns: {type(machine).__name__}")
    steps = _preprocessing(X, options)
    if options.tune:
        _tell(options, "choosing parameters, which can take minutes: --max-time limits it")
    for _, step in steps:
        X = step.fit_transform(X)
    _check_file_holds(name, steps, rows.y, X.shape[1], options)
    given = () if name == "oneclass" else (rows.y,)
    stopped: list[str] = []
    with noticed(lambda: _hear(stopped)):
        machine.fit(X, *given, sample_weight=rows.weight)
        machine = _as_model(_chosen(machine, X, rows, options, stopped))
    model = Pipeline([*steps, (name, machine)]) if steps else machine
    with undisturbed(swallow=True):  # short; the model must not be lost
        models.save_model(model, options.output)
    if stopped:
        remark(f"{stopped[-1]}: wrote {options.output}; its certificate: {machine.certificate_}")
    result(machine.certificate_)
    if options.python:
        result(f"\n{as_python(model)}")
    _tell(options, f"{_described(machine)}, written to {options.output}")
    if stopped:
        return 130
    return 0 if machine.certificate_.status.success else 1


def _hear(stopped: list[str]) -> None:
    """Note that Ctrl-C was pressed, and let the next one end the process at once. Sets: stopped."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    stopped.append("interrupted")
    os.write(2, b"\nCtrl-C: the best model so far is kept; press again to stop at once\n")


def _tell(options: argparse.Namespace, text: str) -> None:
    """Print a remark, unless none are wanted."""
    if not options.quiet:
        remark(text)


def _settle_output(options: argparse.Namespace) -> None:
    """Set the default file; raise ValueError if it exists, or cannot hold what will be trained.

    Sets: options.output.
    """
    if options.output is None:
        options.output = _OUTPUT
        if _OUTPUT.exists():
            raise ValueError(f"{_OUTPUT} exists: pass -o {_OUTPUT} to replace it, or another file")
    models.check_ending(options.output)
    single = options.output.suffix in (".street", ".model")
    if single and options.preprocess == "auto":
        raise ValueError(
            f"--output {options.output}: such a file holds one estimator without preprocessing: "
            "write a .skops file, or pass --preprocess none"
        )
    if options.probabilities and options.output.suffix in (".onnx", ".model"):
        raise ValueError(
            f"--output {options.output}: such a file holds no probabilities: write a .skops file, "
            "or leave out --probabilities"
        )
    models.check_writable(options.output)


def _check_file_holds(
    name: str, steps: list[tuple[str, Any]], y: Any, width: int, options: argparse.Namespace
) -> None:
    """Raise if the file cannot hold the model, before its training.

    Writes an SVM of the same kind with the same kernel and classes, trained on a row per class, to
    a temporary file of the same name.
    """
    from tempfile import TemporaryDirectory

    import numpy as np
    from sklearn.pipeline import Pipeline

    import widestreet as ws

    kernel = options.kernel or dict(options.others).get("kernel", "rbf")
    small = getattr(ws, _KINDS[name])(kernel="linear" if kernel == "precomputed" else kernel)
    labels = np.arange(2.0)
    if name not in ("svr", "nusvr", "oneclass"):
        labels = np.array(list(dict.fromkeys(y))[:_MOST_CLASSES], dtype=y.dtype)
    X = np.zeros((len(labels), width))
    X[:, 0] = np.arange(len(labels))
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        small.fit(X, *(() if name == "oneclass" else (labels,)))
        model = Pipeline([*steps, (name, small)]) if steps else small
        models.save_model(model, Path(folder, options.output.name))


def _preprocessing(X: Any, options: argparse.Namespace) -> list[tuple[str, Any]]:
    """Return the steps before the SVM, unfitted."""
    from widestreet.cli.preprocessing import doubts_about, transformer_for

    if options.preprocess == "none":
        return []
    for doubt in doubts_about(X):
        _tell(options, doubt)
    return [("preprocessing", transformer_for(X))]


def _guessed(y: Any) -> str:
    """Return the SVM for a target."""
    import numpy as np

    if y is None:
        return "oneclass"
    numeric = np.issubdtype(np.asarray(y).dtype, np.number)
    if not numeric:
        return "svc"
    whole = bool((np.asarray(y) == np.floor(y)).all())
    return "svc" if whole and len(np.unique(y)) <= _MOST_CLASSES else "svr"


def _machine(name: str, options: argparse.Namespace, y: Any, weight: Any) -> Any:
    """Return the SVM with the parameters that are given, unfitted."""
    import widestreet as ws

    given = {key: getattr(options, key) for key in _OPTIONS if getattr(options, key) is not None}
    given |= dict(options.others)
    shown = not options.quiet and sys.stderr.isatty()
    kind, progress = getattr(ws, _KINDS[name]), {"verbose": int(shown)}
    if options.probabilities and name not in ("svc", "nusvc"):
        raise ValueError(f"--probabilities: {name} has no classes with probabilities")
    if options.tune:
        if name not in ("svc", "svr"):
            raise ValueError(f"--tune: parameters can be chosen for svc and svr, not for {name}")
        kind, progress = ws.SVCCV if name == "svc" else ws.SVRCV, {"progress": shown}
    unknown = [key for key in given if key not in signature(kind).parameters]
    if unknown:
        option = f"--{unknown[0].replace('_', '-')}" if len(unknown[0]) > 1 else f"-{unknown[0]}"
        cure = "it is chosen by --tune" if options.tune else f"{name} has no such parameter"
        raise ValueError(f"{option}: {cure}")
    keeps = options.tune or not options.probabilities  # calibration needs an optimal model
    given.setdefault("on_interrupt", "keep" if keeps else "raise")
    if name in ("svr", "nusvr") and not options.tune:
        given = _in_units_of(y, weight, name) | given
    machine = kind(**given, **progress)
    return ws.CalibratedSVC(machine) if options.probabilities and not options.tune else machine


def _in_units_of(y: Any, weight: Any, name: str) -> dict[str, float]:
    """Return C and epsilon of a regression in units of the weighted deviation of its targets.

    Those of the estimator suit targets of deviation one. With targets in thousands its model is
    nearly constant.
    """
    import numpy as np

    y = np.asarray(y)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight)
    if not all(values.dtype.kind in "biuf" for values in (y, weight)):
        return {}
    used = weight > 0
    y, weight = y[used].astype(np.float64), weight[used].astype(np.float64)
    if not (len(y) and np.isfinite(y).all() and np.isfinite(weight).all()):
        return {}  # the fit refuses them
    weight /= weight.max()  # so that their sum is finite
    middle = np.average(y, weights=weight)
    deviation = float(np.sqrt(np.average((y - middle) ** 2, weights=weight)))
    if not _ROUNDING * np.abs(y).max() < deviation < np.inf:
        return {}
    found = {"C": float(f"{deviation:.3g}"), "epsilon": float(f"{0.1 * deviation:.3g}")}
    return {"C": found["C"]} if name == "nusvr" else found


def _chosen(
    machine: Any, X: Any, rows: tables.Rows, options: argparse.Namespace, stopped: list[str]
) -> Any:
    """Return the SVM that a search has chosen, with probabilities if they are wanted.

    After Ctrl-C it is the best one so far, without probabilities. Sets: stopped.
    """
    if not options.tune:
        return machine
    from sklearn.base import clone

    import widestreet as ws

    best = machine.best_estimator_
    if options.probabilities and not stopped:
        calibrated = ws.CalibratedSVC(clone(best).set_params(on_interrupt="raise"))
        try:
            return calibrated.fit(X, rows.y, sample_weight=rows.weight)
        except KeyboardInterrupt:
            pass  # `stopped` says so
    if stopped and options.probabilities:
        stopped.append("interrupted, the model has no probabilities")
    elif stopped:
        stopped.append("interrupted, the search may be incomplete")
    return best


def _as_model(machine: Any) -> Any:
    """Return the SVM without what belongs to its training only: progress and Ctrl-C."""
    usual = {"verbose": False, "on_interrupt": "raise"}
    known = machine.get_params()
    inner = {f"estimator__{name}": value for name, value in usual.items()}
    return machine.set_params(
        **{name: value for name, value in (usual | inner).items() if name in known}
    )


def _described(machine: Any) -> str:
    """Return the SVM in one line."""
    inner = getattr(machine, "estimator_", machine)
    names = [name for name in ("C", "nu", "gamma", "epsilon") if hasattr(inner, name)]
    given = ", ".join(f"{name}={_short(getattr(inner, name))}" for name in names)
    return f"{type(inner).__name__}({given}) with {len(inner.support_):,} support vectors"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _value(text: str) -> Any:
    """Return a number, another literal of Python, or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _pair(text: str) -> tuple[str, Any]:
    """Return the name and the value of a parameter."""
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    return name, _value(value)
