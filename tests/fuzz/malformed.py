"""Malformed calls: each may only end in a result or in an error that names what is wrong.

`case(seed, index)` draws an estimator, a call and one or two things that are wrong with it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import widestreet as ws
from fuzz.values import ANYTHING, BAD_KERNELS, ROWS, TARGETS, WEIGHTS
from widestreet import online

SECONDS = 2.0
BATCH = (ws.SVC, ws.NuSVC, ws.SVR, ws.NuSVR, ws.OneClassSVM, ws.EnsembleSVC)
ONLINE = (
    online.OnlineSVC,
    online.OnlineNuSVC,
    online.OnlineSVR,
    online.OnlineNuSVR,
    online.OnlineOneClassSVM,
)

# What scikit-learn and NumPy say of X or y without naming them.
_ABOUT_ROWS = re.compile(
    r"\bX\b|sample|feature|2D array|[Ff]ound array|scalar array|arrays of bytes|dim \d|dimensional|"
    r"Complex data|[Ss]parse|dense data|np\.matrix|could not convert|[Cc]annot convert|numeric|"
    r"real number|array element with a sequence|inhomogeneous|dtype"
)
_ABOUT_TARGETS = re.compile(
    r"\by\b|[Ll]abel|class|target|samples|1d array|array-like|could not convert|Complex data|"
    r"np\.matrix|real number|dtype|inhomogeneous|array element with a sequence|str.*int"
)


def names(error: Exception, wrong: set[str]) -> bool:
    """Whether an error names one of the parameters that are wrong."""
    text = str(error)
    if any(re.search(rf"\b{re.escape(name)}\b", text) for name in wrong):
        return True
    return ("X" in wrong and _ABOUT_ROWS.search(text) is not None) or (
        "y" in wrong and _ABOUT_TARGETS.search(text) is not None
    )


@dataclass
class Case:
    """A call and what is wrong with it."""

    name: str
    call: Callable[[], Any]
    wrong: set[str]


def case(seed: int, index: int) -> Case:
    """Draw a malformed call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what NumPy and SciPy think of such arrays
        return _drawn(seed, index)


def _drawn(seed: int, index: int) -> Case:
    rng = np.random.default_rng([seed, index])
    make = (*BATCH, *ONLINE)[int(rng.integers(len(BATCH) + len(ONLINE)))]
    known = set(make._get_param_names())
    n = 20
    X, y = rng.standard_normal((n, 3)), np.arange(n) % 2
    X[rng.random(X.shape) < 0.2] = 0.0
    options: dict[str, Any] = {"n_jobs": 1, "random_state": 0, "max_time": SECONDS, "nu": 0.4}
    options = {name: value for name, value in options.items() if name in known}
    if rng.random() < 0.3:
        options["kernel"] = str(rng.choice(["linear", "poly", "sigmoid", "laplacian"]))
    if rng.random() < 0.1 and "strategy" in known:
        options["strategy"] = str(rng.choice(["smo", "isvm", "randsvm", "rsvm", "prsvm"]))
    target = () if "OneClass" in make.__name__ else (y,)
    draw = _Drawn(rng, make, options, X, target)
    kinds = [draw.fit_call, draw.parameter_call, draw.query_call]
    kinds += [draw.online_call, draw.online_call] if make in ONLINE else [draw.function_call]
    name, call, wrong = kinds[int(rng.integers(len(kinds)))]()
    if options.get("kernel") == "sigmoid":
        wrong = wrong | {"kernel"}  # online machines and ensembles have none
    return Case(f"{make.__name__} {name}", call, wrong)


def _pick(rng, table: dict[str, Any]) -> tuple[str, Any]:
    name = list(table)[int(rng.integers(len(table)))]
    return name, table[name]


class _Drawn:
    """Ways to make a bad call of an estimator."""

    def __init__(self, rng, make, options, X, target) -> None:
        self.rng, self.make, self.options, self.X, self.target = rng, make, options, X, target

    def _spoiled(self) -> tuple[str, dict[str, Any], set[str]]:
        """Arguments of fit of which one or two are malformed."""
        rng, given = self.rng, {"X": self.X, "y": self.target[0] if self.target else None}
        given["sample_weight"] = None
        share = [0.6, 0.2, 0.2] if self.target else [0.75, 0.0, 0.25]
        which = set(rng.choice(["X", "y", "sample_weight"], size=int(rng.integers(1, 3)), p=share))
        texts = []
        for name in sorted(which):
            if name == "X":
                text, change = _pick(rng, ROWS)
                given["X"] = change(self.X, rng)
            elif name == "y":
                text, change = _pick(rng, TARGETS)
                given["y"] = change(self.target[0], rng)
            else:
                text, change = _pick(rng, WEIGHTS)
                given["sample_weight"] = change(len(self.X), rng)
            texts.append(f"{name} {text}")
        # where X has another number of rows, y and sample_weight may be named, and vice versa
        wrong = {"X", "y", "sample_weight"} if {"X", "y"} & which else which
        return ", ".join(texts), given, wrong

    def fit_call(self):
        text, given, wrong = self._spoiled()
        positional = (given["X"], given["y"]) if self.target else (given["X"],)
        if self.rng.random() < 0.2:
            self.options["kernel"] = "precomputed"
            wrong = wrong | {"kernel"}

        def call():
            model = self.make(**self.options)
            return model.fit(*positional, sample_weight=given["sample_weight"])

        return f"fit: {text} {self.options}", call, wrong | {"gamma", "nu"}

    def parameter_call(self):
        names = sorted(self.make._get_param_names())
        chosen = {
            names[int(self.rng.integers(len(names)))] for _ in range(int(self.rng.integers(1, 3)))
        }
        bad = {name: ANYTHING[int(self.rng.integers(len(ANYTHING)))] for name in sorted(chosen)}
        if "kernel" in bad and (callable(bad["kernel"]) or self.rng.random() < 0.5):
            bad["kernel"] = BAD_KERNELS[int(self.rng.integers(len(BAD_KERNELS)))]
        if bad.get("verbose") is not None:
            bad.pop("verbose")  # what is shown is not looked at here
        options = self.options | bad

        def call():
            model = self.make(**options).fit(self.X, *self.target)
            return model.predict(self.X)

        wrong = set(bad) | ({"y"} if "max_rows" in bad else set())  # what is left may be one class
        return f"parameters: {bad!r} {self.options}", call, wrong

    def query_call(self):
        text, change = _pick(self.rng, ROWS)
        rows = change(self.X, self.rng)
        method = str(self.rng.choice(["predict", "decision_function", "score"]))
        if not hasattr(self.make, method):
            method = "predict"

        def call():
            model = self.make(**self.options).fit(self.X, *self.target)
            if method == "score" and self.target:
                return model.score(rows, self.target[0])
            return getattr(model, "predict" if method == "score" else method)(rows)

        return f"{method}: X {text} {self.options}", call, {"X", "y"}

    def online_call(self):
        rng = self.rng
        which = str(
            rng.choice(["partial_fit", "forget", "change_weight", "leave_one_out", "fit 0"])
        )
        if self.options.get("kernel") == "sigmoid":
            self.options.pop("kernel")
        ids = self._ids()
        text, given, wrong = self._spoiled()
        positional = (given["X"], given["y"]) if self.target else (given["X"],)

        def call():
            model = self.make(**self.options)
            if which != "fit 0":
                model.fit(self.X, *self.target)
            if which in ("partial_fit", "fit 0"):
                model.partial_fit(*positional, sample_weight=given["sample_weight"])
            elif which == "forget":
                model.forget(ids)
            elif which == "change_weight":
                model.change_weight(ids, given["sample_weight"] if "sample_weight" in text else 2.0)
            else:
                model.forget(ids)
                model.leave_one_out()
            return model.predict(self.X)

        shown = text if which in ("partial_fit", "fit 0") else f"{ids!r:.60} {text}"
        if which in ("partial_fit", "fit 0"):
            return f"{which}: {shown} {self.options}", call, wrong | {"nu", "gamma"}
        return f"{which}: {shown} {self.options}", call, {"ids", "sample_weight", "nu", "y"}

    def _ids(self) -> Any:
        rng = self.rng
        choices = (
            *ANYTHING, [0, 0], [1, 2, 3], [99], [-1], np.arange(20), np.arange(19),
            np.arange(20) % 2 > 0, np.array([[1, 2]]), np.array([1.0, 2.0]),
            np.array([2**63], dtype=np.uint64), [2**70],
            np.array([], dtype=int), ["1"], [None], np.array([3], dtype=np.int8), range(3),
        )  # fmt: skip
        return choices[int(rng.integers(len(choices)))]

    def function_call(self):
        rng = self.rng
        text, given, wrong = self._spoiled()
        if rng.random() < 0.5:

            def call():
                model = self.make(**self.options)
                return ws.leave_one_out(model, given["X"], given["y"], given["sample_weight"])

            return f"leave_one_out: {text}", call, wrong | {"estimator", "kernel", "nu"}
        names = ["C_min", "C_max", "epsilon_min", "epsilon_max", "nu_min", "nu_max", "C", "epsilon"]
        names += ["task", "kernel", "gamma", "degree", "coef0", "n_jobs"]
        ends = {"C_min": 0.1, "C_max": 10.0}
        wrong = wrong if self.target else wrong | {"y"}  # a path of one class there is not
        if rng.random() < 0.3:
            ends = {"nu_min": 0.1, "nu_max": 0.5}
        bad = {}
        if rng.random() < 0.7:
            name = names[int(rng.integers(len(names)))]
            bad[name] = ANYTHING[int(rng.integers(len(ANYTHING)))]
            if name == "kernel" and callable(bad[name]):  # what such a function raises is its own
                bad[name] = BAD_KERNELS[int(rng.integers(len(BAD_KERNELS)))]
        if bad:
            given = {"X": self.X, "y": np.arange(len(self.X)) % 2, "sample_weight": None}
            wrong = set(bad) | {"C_min", "C_max", "nu_min", "nu_max"}

        def call():
            options = {"n_jobs": 1} | ends | bad | {"sample_weight": given["sample_weight"]}
            return ws.regularization_path(given["X"], given["y"], **options)

        shown = bad or text
        return f"regularization_path: {shown!r} {ends}", call, wrong


def run(seed: int, index: int) -> tuple[str, str | None]:
    """Make a call: how it ended, and what is wrong with that or None."""
    drawn = case(seed, index)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            values = np.asarray(getattr(found := drawn.call(), "intercept_", found))
        except NotFittedError:
            return "refused", None  # the call took all rows, and nothing is left to predict with
        except (ValueError, TypeError) as error:
            if names(error, drawn.wrong):
                return "refused", None
            kind = type(error).__name__
            return (
                "unnamed",
                f"{kind} names none of {sorted(drawn.wrong)}: {error!s:.200}: {drawn.name:.300}",
            )
        except Exception as error:
            return "raised", f"{type(error).__name__}: {error!s:.200}: {drawn.name:.300}"
    alone = "leave_one_out" in drawn.name and len(values) == 1  # nothing is known of a lone row
    # R^2 of finite predictions beyond 1e154 is below the least float64
    below = " score: " in drawn.name and bool(np.all(values == -np.inf))
    if values.dtype.kind == "f" and not np.isfinite(values).all() and not (alone or below):
        return "not finite", f"a result is not finite: {drawn.name:.300}"
    return "accepted", None
