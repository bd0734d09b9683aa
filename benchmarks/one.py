"""One library on one problem, in a process of its own: prints a JSON record.

python -m benchmarks.one LIBRARY PROBLEM ROWS DTYPE REPEATS
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.problems import PROBLEMS, Problem
from widestreet.certificate import examine
from widestreet.duals import c_svc, eps_svr
from widestreet.estimators import training as machine
from widestreet.estimators.one_vs_one import OneVsOne, pairs
from widestreet.gram import Gram
from widestreet.kernels import RBF, Linear
from widestreet.rows import as_rows
from widestreet.threads import resolve_threads

MODULES = {
    "widestreet": "widestreet",
    "scikit-learn": "sklearn.svm",
    "scikit-learn-intelex": "sklearnex.svm",
}


def estimator(library: str, problem: Problem) -> Any:
    module = importlib.import_module(MODULES[library])
    extra = {"random_state": 0} if library == "widestreet" else {}
    if library == "scikit-learn":
        extra["cache_size"] = 2000
    kind = module.SVC if problem.task == "svc" else module.SVR
    return kind(**problem.parameters(), **extra)


def examined(problem: Problem, model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Our certificate of anybody's solution; of several pairs, the worst and the sums."""
    kernel = Linear() if problem.kernel == "linear" else RBF(problem.gamma)
    rows = as_rows(X, centred=kernel.translation_invariant)
    gram = Gram(kernel, rows, threads=resolve_threads(None))
    lines = model.dual_coef_
    lines = np.asarray(lines.toarray() if sparse.issparse(lines) else lines)
    coef = np.zeros((len(lines), len(y)))
    coef[:, model.support_] = lines
    if problem.task == "svr":
        beta = np.concatenate([np.maximum(coef, 0), np.minimum(coef, 0)])
        found = [examine(gram, eps_svr(y, problem.C, problem.epsilon), beta)]
    elif len(lines) == 1:
        found = [examine(gram, c_svc(np.where(y == model.classes_[1], 1, -1), problem.C), coef)]
    else:
        found = examined_pairs(problem, model.classes_, gram, coef, y)
    return {
        "dual_objective": sum(f.dual for f in found),
        "gap": sum(f.primal - f.dual for f in found),
        "violation": max(f.violation for f in found),
        "infeasibility": max(f.infeasibility for f in found),
    }


def examined_pairs(problem: Problem, classes: Any, gram: Gram, coef: Any, y: Any) -> list[Any]:
    members = [np.flatnonzero(y == c) for c in classes]
    problems, coefs = [], []
    for i, j in pairs(len(classes)):
        first, second = members[i], members[j]
        sign = np.repeat([1.0, -1.0], [len(first), len(second)])
        problems.append(machine.Problem(c_svc(sign, problem.C)))
        coefs.append(np.concatenate([coef[j - 1, first], coef[i, second]]))
    scores = OneVsOne(members, problems).scores(gram, coefs)
    return [
        examine(gram, p.dual, c[None], score=u)
        for p, c, u in zip(problems, coefs, scores, strict=True)
    ]


def main(library: str, name: str, rows: int, dtype: str, repeats: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    problem = PROBLEMS[name]
    X, y = problem.data(rows, dtype)
    estimator(library, problem).fit(*problem.small(dtype))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, predicting = [], []
    for _ in range(repeats):
        begun = time.perf_counter()
        model = estimator(library, problem).fit(X, y)
        seconds.append(time.perf_counter() - begun)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unseen, truth = problem.unseen(dtype)
    if library == "scikit-learn":  # one thread: enough of them to know its pace
        unseen, truth = unseen[:10_000], truth[:10_000]
    for _ in range(repeats):
        begun = time.perf_counter()
        answer = model.predict(unseen)
        predicting.append(time.perf_counter() - begun)
    record = {
        "library": library,
        "problem": name,
        "rows": X.shape[0],
        "dtype": dtype,
        "seconds": seconds,
        "predicted_rows": unseen.shape[0],
        "predict_seconds": predicting,
        "errors": int((answer != truth).sum()) if problem.task == "svc" else None,
        "data_mb": before / 1024,
        "peak_mb": (peak - before) / 1024,
        "n_sv": len(model.support_),
    }
    if library == "widestreet":
        record["status"] = model.certificate_.status
        record["kernel_values"] = model.n_kernel_values_
        record["rounds"] = len(model.trace_)
    return record | examined(problem, model, X, y)


if __name__ == "__main__":
    library, name, rows, dtype, repeats = sys.argv[1:]
    print(json.dumps(main(library, name, int(rows), dtype, int(repeats))))
