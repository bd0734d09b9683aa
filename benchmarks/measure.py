"""One measurement in a process of its own: a job as JSON in, a record as JSON out.

python -m benchmarks.measure '{"data": "twonorm", "rows": 10000, "solver": "widestreet", ...}'

The fit has a time limit: an alarm that nobody catches kills the process, native code and all.
Loading, warming up, predicting and certifying are outside the limit and outside the times.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from . import memory
from .discovery import solvers, tasks
from .noise import Noise
from .records import Job, Record
from .solver import Solver
from .task import Split, Task, some
from .verdict import verdict

WARM_UP_ROWS = 1000
LARGEST_DENSE = 4e9  # bytes


def measure(job: Job) -> Record:
    """Load, warm up, fit, predict, certify."""
    task, solver = tasks()[job.data], solvers()[job.solver]
    found: Record = {"version": solver.version(), "when": time.strftime("%Y-%m-%d %H:%M")}
    why = task.missing() or solver.absent()
    if why:
        return found | {"status": "absent", "reason": why}
    split = task.load(job.rows)
    if not solver.takes_sparse and 8.0 * np.prod(split.X.shape) > LARGEST_DENSE:
        return found | {"status": "absent", "reason": "takes no CSR, and dense it is too large"}
    split = ordered(split, solver)
    found |= {"rows": split.X.shape[0], "features": split.X.shape[1]}
    found |= {"layout": "csr" if sparse.issparse(split.X) else "dense"}
    warm_up(job, task, solver, split)
    model, data, timed = fit(job, task, solver, split)
    found |= timed | {"status": "answer"} | predict(task, solver, model, split)
    solution = solver.solution(model, data)
    found["n_sv"] = int(np.count_nonzero(solution.coef.any(axis=0)))
    found["remarks"] = solver.remarks(model)
    return found | verdict(task, split.X, split.y, solution, job.threads)


def ordered(split: Split, solver: Solver) -> Split:
    """Rows as everybody gets them: float64, C order; dense for those who cannot read CSR."""
    parts = []
    for X in (split.X, split.X_test):
        if sparse.issparse(X):
            parts.append(X if solver.takes_sparse else X.toarray())
        else:
            parts.append(np.ascontiguousarray(X, dtype=np.float64))
    return Split(parts[0], split.y, parts[1], split.y_test)


def warm_up(job: Job, task: Task, solver: Solver, split: Split) -> None:
    """A small fit on other rows, so that nobody pays for loading code."""
    X, y = some(split.X_test, split.y_test, WARM_UP_ROWS)
    model = solver.fit(task, solver.prepare(task, X, y), 1e-2, job.threads)
    solver.predict(model, X[:10])


def fit(job: Job, task: Task, solver: Solver, split: Split) -> tuple[Any, Any, Record]:
    """The model, the data it was trained on, and what that took; memory is that of the first."""
    data = solver.prepare(task, split.X, split.y)
    seconds: list[float] = []
    before, peak, noise = 0.0, 0.0, Noise()
    while not seconds or (len(seconds) < job.repeats and sum(seconds) < job.repeat_for):
        held = memory.begin()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0 if seconds else job.limit)
        begun = time.perf_counter()
        model = solver.fit(task, data, job.tol, job.threads)
        seconds.append(time.perf_counter() - begun)
        signal.setitimer(signal.ITIMER_REAL, 0)
        before, peak = (before, peak) if len(seconds) > 1 else (held, memory.peak() - held)
    taken = {"seconds": float(np.median(seconds)), "all_seconds": seconds, "peak_mb": peak}
    return model, data, taken | {"data_mb": before, "others": noise.processors()}


def predict(task: Task, solver: Solver, model: Any, split: Split) -> Record:
    """Accuracy, or the coefficient of determination, on the test rows, and the time it took."""
    begun = time.perf_counter()
    answer = np.asarray(solver.predict(model, split.X_test))
    seconds = time.perf_counter() - begun
    if task.kind == "svc":
        score = float(np.mean(answer == split.y_test))
    else:
        error = np.mean((answer - split.y_test) ** 2)
        score = float(1 - error / np.var(split.y_test))
    return {"score": score, "predict_seconds": seconds, "test_rows": split.X_test.shape[0]}


def main(text: str) -> None:
    warnings.simplefilter("ignore")
    job = Job(**json.loads(text))
    # a line of its own, whatever a library has printed without ending its line
    print("\n" + json.dumps(job.facts | measure(job)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
