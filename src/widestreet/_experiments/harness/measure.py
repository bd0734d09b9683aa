"""Measure: load the rows once, then fit, predict and certify for each measurement.

    echo '[{"problem": "web", ...}]' | python -m widestreet._experiments measure isvm

The runner starts this command. It prints one line of JSON per measurement. A fit that exceeds its
limit is ended by an alarm without a handler, which kills the process, native code included; the
runner then starts another one for the rest. Loading, warming up, predicting and certifying are
outside the limit and outside the times.
"""

from __future__ import annotations

import json
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._experiments.harness import memory
from widestreet._experiments.harness.measurement import Experiment, Measurement, from_facts
from widestreet._experiments.harness.noise import Noise
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.solver import Solution, Solver
from widestreet._experiments.harness.task import Split, Task, some
from widestreet._experiments.harness.verdict import verdict

WARM_UP_ROWS = 1000
LARGEST_DENSE = 4e9  # bytes
GRACE = 60.0  # seconds after the limit until a fit that should stop by itself is killed
REPEAT_SECONDS = 20.0  # after which a fit is not repeated


def measure(
    experiment: Experiment, chosen: Sequence[Measurement], warm: bool = False
) -> Iterator[Record]:
    """Yield the records of measurements of one problem, in order."""
    task = experiment.problems()[chosen[0].problem]
    split = None if task.missing() else task.load(chosen[0].rows)
    known: set[str] = set()
    for one in chosen:
        solver = one.method.library
        found: Record = {"version": solver.version(), "when": time.strftime("%Y-%m-%d %H:%M")}
        why = task.missing() or solver.absent() or _too_large(split, solver)
        if why or split is None:
            yield found | {"status": "absent", "reason": why}
            continue
        rows = ordered(split, solver)
        try:
            if experiment.measure is not None:
                found |= counted(experiment.measure, task, rows, one)
            else:
                if warm and solver.name not in known:
                    known.add(solver.name)
                    warm_up(one, task, rows)
                found |= fitted(experiment, task, rows, one)
            yield {"status": "answer"} | found
        except Exception as error:
            yield found | {"status": "failed", "reason": f"{type(error).__name__}: {error}"[:300]}


def _too_large(split: Split | None, solver: Solver) -> str | None:
    if solver.takes_sparse or split is None or 8.0 * np.prod(split.X.shape) <= LARGEST_DENSE:
        return None
    return "takes no CSR, and the dense rows are too large"


def ordered(split: Split, solver: Solver) -> Split:
    """Return rows as every solver gets them: float64 in C order, or CSR if it reads that."""
    parts = []
    for X in (split.X, split.X_test):
        if sparse.issparse(X):
            parts.append(X if solver.takes_sparse else X.toarray())
        else:
            parts.append(np.ascontiguousarray(X, dtype=np.float64))
    return Split(parts[0], split.y, parts[1], split.y_test)


def warm_up(one: Measurement, task: Task, split: Split) -> None:
    """Fit a few other rows, so that no measurement includes the loading of code."""
    X, y = some(split.X_test, split.y_test, WARM_UP_ROWS)
    solver = one.method.library
    model = solver.fit(task, solver.prepare(task, X, y), 1e-2, one.threads)
    solver.predict(model, X[:10])


def fitted(experiment: Experiment, task: Task, split: Split, one: Measurement) -> Record:
    """Fit, predict and certify."""
    solver, rows = one.method.library, sampled(one, split.X.shape[0])
    X, y = (split.X, split.y) if rows is None else (split.X[rows], split.y[rows])
    data, options = solver.prepare(task, X, y), one.method.options(one.seed, one.limit)
    found: Record = {"trained_on": X.shape[0], "features": X.shape[1]}
    found["layout"] = "csr" if sparse.issparse(X) else "dense"
    with experiment.watch(one) as watched:
        model, times = timed(one, lambda: solver.fit(task, data, one.tol, one.threads, **options))
    found |= times | scores(task, solver, model, split)
    solution = solver.solution(model, data)
    found["n_sv"] = int(np.count_nonzero(solution.coef.any(axis=0)))
    found |= solver.remarks(model)
    if rows is None and not one.method.solver:
        own = model.certificate_
        found |= {"violation": own.kkt_violation, "relative_gap": own.relative_gap}
        found["dual_objective"] = own.dual_objective
    else:
        found |= verdict(task, split.X, split.y, _over_all(solution, split, rows), one.threads)
    if rows is not None:
        found.pop("certificate", None)  # it is that of the sample
    trace = getattr(model, "trace_", None)
    return found | (experiment.remarks(one, trace, watched) if trace else {})


def _over_all(solution: Solution, split: Split, rows: Any) -> Solution:
    """Return the solution of a sample as one of all rows: the others have coefficient zero."""
    if rows is None:
        return solution
    coef = np.zeros((solution.coef.shape[0], split.X.shape[0]))
    coef[:, rows] = solution.coef
    return Solution(coef, solution.classes)


def timed(one: Measurement, fit: Callable[[], Any]) -> tuple[Any, Record]:
    """Return the model and the median time of short fits; memory is that of the first fit."""
    seconds: list[float] = []
    held, peak, noise = 0.0, 0.0, Noise()
    while not seconds or (len(seconds) < one.repeats and sum(seconds) < REPEAT_SECONDS):
        before = memory.begin()
        alarm(0 if seconds else one.limit + (0.0 if one.method.solver else GRACE))
        begun = time.perf_counter()
        model = fit()
        seconds.append(time.perf_counter() - begun)
        alarm(0)
        if len(seconds) == 1:
            held, peak = before, memory.peak() - before
    found: Record = {"seconds": float(np.median(seconds)), "all_seconds": seconds, "peak_mb": peak}
    return model, found | {"data_mb": held, "others": noise.processors()}


def counted(
    work: Callable[[Any, Split, Measurement], Record], task: Task, split: Split, one: Measurement
) -> Record:
    """Return the record of a measurement that is not one fit."""
    noise = Noise()
    alarm(one.limit)
    begun = time.perf_counter()
    known = work(task, split, one)
    found: Record = {"seconds": time.perf_counter() - begun} | known  # it may have its own
    alarm(0)
    found |= {"others": noise.processors(), "features": split.X.shape[1]}
    return found | {"test_rows": len(split.y_test)}


def sampled(one: Measurement, n: int) -> Any:
    """Return the rows that are trained on, in order; None for all."""
    if one.method.share >= 1:
        return None
    size = max(2, round(one.method.share * n))
    return np.sort(np.random.default_rng(one.seed).choice(n, size, replace=False))


def alarm(seconds: float) -> None:
    """Kill this process after so many seconds; 0 cancels."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def scores(task: Task, solver: Solver, model: Any, split: Split) -> Record:
    """Return the test scores, and the time of the prediction.

    "score" is the accuracy, or the coefficient of determination. Regression also has mean squared
    error and correlation, and an accuracy if its targets are -1 and 1.
    """
    begun = time.perf_counter()
    answer, truth = np.asarray(solver.predict(model, split.X_test)), np.asarray(split.y_test)
    found: Record = {"predict_seconds": time.perf_counter() - begun, "test_rows": len(truth)}
    if task.kind == "svc":
        accuracy = float(np.mean(answer == truth))
        return found | {"score": accuracy, "accuracy": accuracy}
    found["mse"] = float(np.mean((answer - truth) ** 2))
    found["score"] = float(1 - found["mse"] / np.var(truth))
    found["rho"] = 0.0 if answer.std() == 0 else float(np.corrcoef(answer, truth)[0, 1])
    if set(np.unique(truth)) == {-1, 1}:
        found["accuracy"] = float(np.mean(np.sign(answer) == truth))
    return found


def main(experiment: Experiment, text: str) -> None:
    """Print the records of measurements that are given as JSON."""
    warnings.simplefilter("ignore")
    chosen = [from_facts(facts) for facts in json.loads(text)]
    for record in measure(experiment, chosen, warm=True):
        # begin a new line: a library may have printed an unfinished one
        print("\n" + json.dumps(record), flush=True)
