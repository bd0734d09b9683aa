"""The certificate of any library's solution, recomputed in float64 over all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._experiments.harness.solver import Solution
from widestreet._experiments.harness.task import Task
from widestreet._src.certificate import Examination, examine
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Linear
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.formulations import c_svc, eps_svr
from widestreet._src.rows import as_rows
from widestreet._src.training.pair_problems import PairProblems
from widestreet._src.training.problem import Problem


def verdict(task: Task, X: Any, y: Any, solution: Solution, threads: int) -> dict[str, float]:
    """Return objectives, gap and violation of a solution; for several pairs, sums and the worst."""
    kernel = Linear() if task.kernel == "linear" else RBF(task.gamma)
    gram = Gram(kernel, as_rows(X, centred=kernel.translation_invariant), threads=threads)
    if task.kind == "svr":
        up, down = np.maximum(solution.coef, 0), np.minimum(solution.coef, 0)
        dual = eps_svr(y, task.C, task.epsilon)
        found = [examine(gram, dual, np.concatenate([up, down]))]
    elif len(solution.classes) == 2:
        sign = np.where(y == solution.classes[0], 1, -1)
        found = [examine(gram, c_svc(sign, task.C), solution.coef)]
    else:
        found = _pairs(task, gram, y, solution)
    primal, dual_objective = sum(f.primal for f in found), sum(f.dual for f in found)
    gap = primal - dual_objective
    return {
        "primal_objective": float(primal),
        "dual_objective": float(dual_objective),
        "gap": float(gap),
        "relative_gap": float(gap / max(abs(primal), abs(dual_objective), 1e-300)),
        "violation": max(f.violation for f in found),
        "infeasibility": max(f.infeasibility for f in found),
    }


def _pairs(task: Task, gram: Gram, y: Any, solution: Solution) -> list[Examination]:
    """Examine every pair of classes as a problem of its own."""
    members = [np.flatnonzero(y == c) for c in solution.classes]
    problems, coefs = [], []
    for i, j in PairLayout(len(members)).pairs:
        sign = np.repeat([1.0, -1.0], [len(members[i]), len(members[j])])
        problems.append(Problem(c_svc(sign, task.C)))
        coefs.append(
            np.concatenate([solution.coef[j - 1, members[i]], solution.coef[i, members[j]]])
        )
    scores = PairProblems(members, problems).scores(gram, coefs)
    return [
        examine(gram, problem.dual, coef[None], score=score)
        for problem, coef, score in zip(problems, coefs, scores, strict=True)
    ]
