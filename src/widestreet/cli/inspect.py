"""Print what a saved model is: parameters, support vectors, certificate.

--json prints the same as JSON. Nothing in the file is executed.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from widestreet.cli import models
from widestreet.cli.streams import result

SUMMARY = "print what a saved model is"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    models.configure(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--python", action="store_true", help="print the model as Python code")


def run(options: argparse.Namespace) -> int:
    """Print the description and return 0."""
    model = models.load_model(options)
    if options.python:
        from widestreet.cli.preprocessing import as_python

        result(as_python(model))
        return 0
    found = describe(model)
    if options.json:
        result(json.dumps(found, indent=2, default=str))
        return 0
    width = max(map(len, found))
    for name, value in found.items():
        for k, line in enumerate(_lines(value)):
            result(f"{name if k == 0 else '':{width}}  {line}")
    return 0


def describe(model: Any) -> dict[str, Any]:
    """Return what a model is, as plain values."""
    from widestreet._src.model_report.subject import Subject

    subject = Subject.of(model)
    machine = subject.machine
    found: dict[str, Any] = {"model": type(model).__name__}
    if subject.steps is not None:
        found["steps"] = [type(step).__name__ for _, step in subject.steps.steps]
    if subject.wrapper is not None:
        found["wrapper"] = type(subject.wrapper).__name__
    found |= {
        "estimator": type(machine).__name__,
        "parameters": dict(subject.parameters()),
        "kernel": machine.kernel if isinstance(machine.kernel, str) else "a Python function",
        "gamma": float(machine._gamma),
        "training rows": int(machine.shape_fit_[0]),
        "features": int(machine.n_features_in_),
        "support vectors": len(machine.support_),
    }
    if hasattr(model, "feature_names_in_"):
        found["columns"] = [str(name) for name in model.feature_names_in_]
    if subject.classes:
        counts = machine.n_support_.tolist()
        found["classes"] = dict(zip(map(str, subject.classes), counts, strict=True))
    found["certificate"] = [str(one) for one in subject.certificates]
    if machine.trace_:
        found["rounds"] = len(machine.trace_)
    return found


def _lines(value: Any) -> list[str]:
    """Return a value as lines."""
    if isinstance(value, dict):
        return [f"{name} = {one}" for name, one in value.items()] or ["all are the defaults"]
    if isinstance(value, list):
        return [str(one) for one in value] or ["none"]
    return [f"{value:,}" if isinstance(value, int) else str(value)]
