"""Random problems over all estimators, fitted and judged.

`case(seed, index)` draws a problem: rows that users have and solvers find hard (offsets, unscaled
columns, whole and binary numbers, repeated rows, low rank, noisy labels, C up to 1e5), an estimator
with its parameters, a storage and an instruction set. `run(seed, index)` fits it and returns its
status and what is wrong with it, if anything.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

import widestreet as ws
from fuzz import judge, storages
from widestreet import _core, online

SHAPES = ("plain", "integer", "binary", "unscaled", "repeated", "offset", "sparse", "low rank")
BATCH = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
ONLINE = tuple("Online" + name for name in BATCH)
ESTIMATORS = (*BATCH, "EnsembleSVC", *ONLINE)
SHARES = (0.27, 0.1, 0.18, 0.1, 0.08, 0.05, 0.06, 0.04, 0.05, 0.04, 0.03)
STRATEGIES = ("auto", "smo", "isvm", "randsvm", "rsvm", "prsvm", "interior")
SECONDS = 4.0  # of each fit
LARGEST = 2000  # rows


@dataclass
class Case:
    """A problem: `X` as plain float64 rows, `given` as the estimator sees them."""

    estimator: str
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    given: Any
    storage: str
    kernel: judge.Kernel
    instruction_set: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        shown = {k: v for k, v in self.parameters.items() if k not in ("kernel", "max_time")}
        text = " ".join(
            f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in shown.items()
        )
        weighted = "" if self.weight is None else " weighted"
        return (
            f"{self.estimator} {self.kernel.name} n={len(self.X)} d={self.X.shape[1]} "
            f"{self.storage}{weighted} {self.instruction_set} {text}"
        )


def rational(A, B):
    """A kernel given as a Python function, whose values do not depend on the block."""
    return 1.0 / (1.0 + cdist(A, B, "sqeuclidean"))


def case(seed: int, index: int) -> Case:
    """Draw a problem."""
    rng = np.random.default_rng([seed, index])
    estimator = str(rng.choice(ESTIMATORS, p=SHARES))
    most = 2.3 if rng.random() < 0.97 else np.log10(LARGEST)
    n, d = int(10 ** rng.uniform(0.9, most)), int(10 ** rng.uniform(0, 1.7))
    if estimator in ONLINE:
        n = min(n, 120)
    X = _rows(rng, n, d)
    if rng.random() < 0.25:
        X = X.astype(np.float32).astype(np.float64)
    y = _targets(rng, X, estimator)
    weight = None
    if rng.random() < 0.3:
        weight = rng.choice([0.0, 0.1, 0.5, 1.0, 2.0, 3.0], n, p=[0.1, 0.1, 0.2, 0.3, 0.2, 0.1])
        for label in np.unique(y) if "SVC" in estimator else [y[0]]:
            weight[np.flatnonzero(y == label)[0]] = 1.0
    parameters, kernel = _kernel(rng, X, estimator)
    parameters |= _parameters(rng, estimator, X, y, weight)
    if kernel.name == "sigmoid" and parameters.get("strategy") == "interior":
        del parameters["strategy"]  # which needs a positive semidefinite kernel
    storage, given = _stored(rng, X, kernel)
    isa = str(rng.choice(_core.instruction_sets()))
    return Case(estimator, X, y, weight, given, storage, kernel, isa, parameters)


def _rows(rng, n: int, d: int) -> np.ndarray:
    X = rng.standard_normal((n, d))
    shape = str(rng.choice(SHAPES))
    if shape == "integer":
        X = np.round(X)
    if shape == "binary":
        X = (X > 0).astype(float)
    if shape == "unscaled":
        X = X * 10.0 ** rng.uniform(-2, 2, d)
    if shape == "repeated":
        X = X[rng.integers(0, max(2, n // 3), n)]
    if shape == "offset":
        X = X + 10.0 ** rng.uniform(0, 2)
    if shape == "sparse":
        X = X * (rng.random((n, d)) < 0.2)
    if shape == "low rank":
        rank = min(d, 2)
        X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return X


def _targets(rng, X, estimator: str) -> np.ndarray:
    n, d = X.shape
    scale = max(1e-9, float(np.abs(X).mean()))
    f = X @ rng.standard_normal(d) / scale / np.sqrt(d) + np.sin(3 * X[:, 0] / scale)
    y = f - np.median(f) + 10.0 ** rng.uniform(-2, 1) * rng.standard_normal(n)
    if "SVC" not in estimator:
        return y
    classes = int(rng.choice([2, 3, 4], p=[0.75, 0.15, 0.1])) if n >= 16 else 2
    label = np.searchsorted(np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]), y)
    label[rng.permutation(n)[: 2 * classes]] = np.arange(2 * classes) % classes
    return label


def _kernel(rng, X, estimator: str) -> tuple[dict[str, Any], judge.Kernel]:
    names = ["rbf", "linear", "poly", "laplacian", "sigmoid", "precomputed", "callable"]
    share = np.array([0.35, 0.23, 0.2, 0.08, 0.05, 0.05, 0.04])
    if estimator in ONLINE or estimator == "EnsembleSVC":
        share[4] = 0
    if estimator in ONLINE:
        share[5] = 0
    name = str(rng.choice(names, p=share / share.sum()))
    spread = float(X.var()) * X.shape[1]
    gamma = float(10.0 ** rng.uniform(-2, 1)) / (spread if spread > 0 else 1.0)
    if name == "callable":
        return {"kernel": rational}, judge.Kernel(name, values=rational(X, X))
    if name == "precomputed":
        K = judge.Kernel("rbf", gamma).block(X, np.arange(len(X)), np.arange(len(X)), np.float64)
        return {"kernel": name}, judge.Kernel(name, values=(K[0] + K[0].T) / 2)
    own: dict[str, Any] = {"kernel": name}
    if name != "linear":
        own["gamma"] = gamma
    if name == "poly":
        own |= {"degree": int(rng.integers(2, 4)), "coef0": 1.0}
    if name == "sigmoid":
        own |= {"coef0": float(rng.normal())}
    shown = {key: value for key, value in own.items() if key != "kernel"}
    return own, judge.Kernel(name, **shown)


def _parameters(rng, estimator: str, X, y, weight) -> dict[str, Any]:
    own: dict[str, Any] = {"n_jobs": 1, "random_state": 0}
    if estimator == "EnsembleSVC":
        own |= {
            "prune": 0.0,
            "max_time": SECONDS,
            "gamma": "paper",
            "intercept": bool(rng.random() < 0.5),
        }
        own |= {"folds": None, "aggregate": "last", "epsilon": float(rng.choice([0.005, 0.05]))}
        return own
    kind = estimator.removeprefix("Online")
    if kind in ("SVC", "SVR", "NuSVR"):
        most = 3 if estimator != kind else 12 if rng.random() < 0.1 else 5
        own["C"] = float(10.0 ** rng.uniform(-2, most))
    if kind == "SVR":
        own["epsilon"] = float(10.0 ** rng.uniform(-2, 0))
    if kind in ("NuSVR", "OneClassSVM"):
        own["nu"] = float(rng.uniform(0.05, 0.95))
    if kind == "SVC" and rng.random() < 0.2:
        own["class_weight"] = {int(label): float(rng.uniform(0.2, 3)) for label in np.unique(y)}
    if kind == "NuSVC":
        w = np.ones(len(y)) if weight is None else weight
        totals = np.bincount(y, w)
        own["nu"] = float(rng.uniform(0.1, 0.98) * 2 * totals.min() / (totals.min() + totals.max()))
    if estimator != kind:
        return own
    own |= {"max_time": SECONDS, "tol": float(rng.choice([1e-2, 1e-3, 1e-5, 1e-7]))}
    if rng.random() < 0.3:
        own["strategy"] = str(rng.choice(STRATEGIES))
    if rng.random() < 0.2:
        own["shrinking"] = False
    return own


def _stored(rng, X, kernel: judge.Kernel) -> tuple[str, Any]:
    if kernel.name == "precomputed":
        return "matrix", kernel.values
    forms = storages.DENSE if kernel.name == "callable" else storages.DENSE | storages.SPARSE
    storage = str(rng.choice(list(forms)))
    narrow = np.array_equal(X, X.astype(np.float32)) and storage != "repeated entries"
    return storage, forms[storage](X.astype(np.float32) if narrow else X)


def fit(problem: Case) -> Any:
    """Fit the estimator of a problem, with the instruction set it names."""
    make = getattr(online if problem.estimator in ONLINE else ws, problem.estimator)
    if problem.estimator == "EnsembleSVC":
        problem.parameters.pop("gamma", None)
        if problem.kernel.name not in ("callable", "precomputed", "linear"):
            problem.parameters["gamma"] = problem.kernel.gamma
    model = make(**problem.parameters)
    target = () if "OneClass" in problem.estimator else (problem.y,)
    before = _core.instruction_set()
    _core.force_instruction_set(problem.instruction_set)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(problem.given, *target, sample_weight=problem.weight)
    finally:
        _core.force_instruction_set(before)


def run(seed: int, index: int) -> tuple[str, str | None]:
    """Fit and judge a case: its status, and what is wrong or None."""
    problem = case(seed, index)
    try:
        model = fit(problem)
    except Exception as error:  # a well-posed problem must not raise
        return "raised", f"{type(error).__name__}: {error}: {problem.name}"
    wrong = complaints(problem, model)
    return model.certificate_.status, f"{'; '.join(wrong)}: {problem.name}" if wrong else None


def complaints(problem: Case, model: Any) -> list[str]:
    """What the judge holds against a model."""
    parts = list(_parts(problem, model))
    if len(parts) != len(model.certificates_):
        return [f"{len(model.certificates_)} certificates for {len(parts)} problems"]
    wrong = []
    for certificate, (rows, dual, coef) in zip(model.certificates_, parts, strict=True):
        if certificate.n_rows == 0 or not len(rows):
            continue
        if problem.estimator == "EnsembleSVC":
            wrong += _judge_margin(problem, certificate, rows, dual, coef)
        else:
            wrong += _judge_part(problem, model, certificate, rows, dual, coef)
    return wrong


def _judge_margin(problem, certificate, rows, dual, coef) -> list[str]:
    if certificate.status != "optimal":
        return []
    kernel, X = _restricted(problem, rows)
    share = np.abs(coef) / np.abs(coef).sum()
    offset = float(problem.parameters["intercept"])
    gap, bound = judge.hard_margin(kernel, X, dual.sign[0], share, offset)
    if gap - bound > certificate.tol * (1 + 1e-9):
        return [f"false optimal: margin gap {gap:.9g} above {certificate.tol:.3g}"]
    return []


def _restricted(problem, rows) -> tuple[judge.Kernel, np.ndarray]:
    if problem.kernel.values is None:
        return problem.kernel, problem.X[rows]
    values = problem.kernel.values[np.ix_(rows, rows)]
    return judge.Kernel(problem.kernel.name, values=values), problem.X[rows]


def _judge_part(problem, model, certificate, rows, dual, coef) -> list[str]:
    kernel, X = _restricted(problem, rows)
    found = judge.judge(kernel, X, dual, coef, certificate.tol)
    own = getattr(certificate, "rounding", 0.0)
    wrong = []
    if certificate.status == "optimal" and not found.violation - found.bound <= certificate.tol:
        wrong.append(
            f"false optimal: violation {found.violation:.6g} +- {found.bound:.1g}, "
            f"stated {certificate.kkt_violation:.6g}, tol {certificate.tol:.3g}"
        )
    if certificate.status == "optimal" and certificate.n_distinct_rows == certificate.n_rows:
        gap, gap_tol = found.primal - found.dual - 2 * found.figure_bound, certificate.gap_tol
        scale, mass = max(abs(found.primal), abs(found.dual)), float(np.abs(dual.totals).sum())
        most = np.inf if gap_tol is None else max(1.01 * gap_tol * scale, certificate.tol * mass)
        if np.isfinite(certificate.gap) and gap > most:
            wrong.append(f"false optimal: gap {gap:.6g} above {most:.3g} of {certificate}")
    off = abs(found.violation - certificate.kkt_violation)
    float64 = _float64_bound(found, len(rows), X.shape[1])
    if found.unique and off > found.bound + own + float64:
        wrong.append(f"violation off by {off:.3g}: stated {certificate.kkt_violation:.6g}")
    if found.infeasibility > judge.FEASIBLE and certificate.status == "optimal":
        wrong.append(f"infeasible by {found.infeasibility:.3g}")
    for name in ("primal", "dual"):
        stated, exact = getattr(certificate, f"{name}_objective"), getattr(found, name)
        allowed = found.figure_bound + float64 * (float(dual.box.sum()) + 1)
        if np.isfinite(stated) and abs(stated - exact) > allowed:
            wrong.append(f"{name} {stated:.9g} instead of {exact:.9g}")
    return wrong


def _float64_bound(found: judge.Verdict, n: int, d: int) -> float:
    """What float64 may do to a score, if its sums are added up in any order."""
    unit = float(np.finfo(np.float64).eps) / float(np.finfo(found.score.dtype).eps)
    return 4 * unit * float(found.score_bound.max(initial=0.0)) + 1e-12


def _coefficients(model: Any, n: int) -> np.ndarray:
    lines = model.dual_coef_
    lines = lines.toarray() if hasattr(lines, "toarray") else lines
    coef = np.zeros((len(lines), n))
    coef[:, model.support_] = lines
    return coef


def _parts(problem: Case, model: Any):
    """Rows, dual and coefficients of each problem between two classes, or of the only one."""
    kind = problem.estimator.removeprefix("Online")
    n, p = len(problem.X), problem.parameters
    weight = np.ones(n) if problem.weight is None else problem.weight
    coef = _coefficients(model, n)
    if kind in ("SVC", "NuSVC", "EnsembleSVC"):
        weight = weight * np.array(
            [p.get("class_weight", {}).get(label, 1.0) for label in problem.y.tolist()]
        )
        classes = np.unique(problem.y[weight > 0])
        pairs = [(i, j) for i in range(len(classes)) for j in range(i + 1, len(classes))]
        for i, j in pairs:
            first, second = problem.y == classes[i], problem.y == classes[j]
            rows = np.flatnonzero((first | second) & (weight > 0))
            line = np.where(first, coef[j - 1], coef[i])
            sign = np.where(second if len(classes) == 2 else first, 1.0, -1.0)
            yield _part(problem, kind, rows, sign, weight, line)
    else:
        rows = np.flatnonzero(weight > 0)
        yield _part(problem, kind, rows, problem.y, weight, coef[0])


def _part(problem, kind, rows, label, weight, coef):
    p, X = problem.parameters, problem.X
    mark = label if kind != "OneClassSVM" else np.zeros(len(label))
    same_rows = X if problem.kernel.name != "precomputed" else np.arange(len(X))[:, None]
    first, w, c = judge.merged(same_rows[rows], mark[rows], weight[rows], coef[rows])
    rows = rows[first]
    y = label[rows]
    match kind:
        case "SVC":
            return rows, judge.c_svc(y, p["C"] * w), c
        case "EnsembleSVC":
            return rows, judge.c_svc(y, w), c
        case "SVR":
            return rows, judge.eps_svr(y, p["C"] * w, p["epsilon"]), c
        case "NuSVC":
            dual = judge.nu_svc(y, w, p["nu"])
            total = c[y > 0].sum()  # decision values are divided by half the margin
            return rows, dual, c * (dual.totals[0] / total if total != 0 else 1.0)
        case "NuSVR":
            return rows, judge.nu_svr(y, w, p["C"], p["nu"]), c
        case _:
            return rows, judge.one_class(w, p["nu"]), c
