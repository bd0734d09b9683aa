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

from benchmarks.problems import PROBLEMS, Problem
from widestreet.certificate import examine
from widestreet.duals import c_svc, eps_svr
from widestreet.gram import Gram
from widestreet.kernels import RBF
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
    """Our certificate of anybody's solution."""
    coef = np.zeros(len(y))
    coef[model.support_] = np.asarray(model.dual_coef_).ravel()
    if problem.task == "svc":
        dual, beta = c_svc(y, problem.C), coef[None]
    else:
        dual = eps_svr(y, problem.C, problem.epsilon)
        beta = np.stack([np.maximum(coef, 0), np.minimum(coef, 0)])
    gram = Gram(RBF(problem.gamma), as_rows(X, centred=True), threads=resolve_threads(None))
    found = examine(gram, dual, beta)
    return {
        "dual_objective": found.dual,
        "gap": found.primal - found.dual,
        "violation": found.violation,
        "infeasibility": found.infeasibility,
    }


def main(library: str, name: str, rows: int, dtype: str, repeats: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    problem = PROBLEMS[name]
    X, y = problem.data(rows, dtype)
    warm_X, warm_y = problem.make(2000, random_state=1)
    estimator(library, problem).fit(warm_X.astype(dtype), warm_y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        model = estimator(library, problem).fit(X, y)
        seconds.append(time.perf_counter() - begun)
    record = {
        "library": library,
        "problem": name,
        "rows": rows,
        "dtype": dtype,
        "seconds": seconds,
        "peak_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
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
