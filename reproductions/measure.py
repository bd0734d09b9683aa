"""Measurements of one problem in a process of their own: JSON in, a line of JSON for each out.

echo '{"paper": "isvm", "measurements": [...]}' | python -m widestreet.reproductions.measure

The data are loaded once. A fit that does not end by itself is ended by an alarm that nobody
catches, which kills the process, native code and all; the runner then starts another one for what
is left.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from widestreet.benchmarks.measure import ordered, warm_up
from widestreet.benchmarks.noise import Noise
from widestreet.benchmarks.records import Job, Record
from widestreet.benchmarks.solver import Solution
from widestreet.benchmarks.task import Split, Task
from widestreet.benchmarks.verdict import verdict

from .measurement import Measurement, from_facts
from .method import TOL, Method
from .paper import Paper
from .papers import PAPERS

Work = Callable[[Any, Split, Measurement], Record]

GRACE = 60.0  # seconds by which our own fit may be late before it is killed, too


def measure(paper: Paper, chosen: Sequence[Measurement], warm: bool = False) -> Iterator[Record]:
    """Records of measurements of one problem, in order, each as soon as it is known."""
    first = chosen[0]
    task = paper.problems()[first.problem]
    why = task.missing()
    if why:
        yield from ({"status": "absent", "reason": why} for _ in chosen)
        return
    split = ordered(task.load(first.rows), first.method.solver())
    known: set[str] = set()
    for one in chosen:
        if warm and paper.measure is None and one.method.solver().name not in known:
            known.add(one.method.solver().name)
            job = Job(one.problem, one.rows, one.method.solver().name, TOL, one.threads, one.limit)
            warm_up(job, task, one.method.solver(), split)
        try:
            if paper.measure is None:
                yield fitted(paper, task, split, one)
            else:
                yield counted(paper.measure, task, split, one)
        except Exception as error:
            yield {"status": "failed", "reason": f"{type(error).__name__}: {error}"[:300]}


def fitted(paper: Paper, task: Task, split: Split, one: Measurement) -> Record:
    """Fit, score, certify."""
    rows = sampled(one.method, split.X.shape[0], one.seed)
    X, y = (split.X, split.y) if rows is None else (split.X[rows], split.y[rows])
    model = one.method.estimator(task, one.seed, one.threads, one.limit)
    found: Record = {"status": "answer", "when": time.strftime("%Y-%m-%d %H:%M")}
    with paper.watch(one) as watched:
        noise = Noise()
        alarm(one.limit + (GRACE if one.method.ours else 0.0))
        begun = time.perf_counter()
        model.fit(X, y)
        found["seconds"] = time.perf_counter() - begun
        alarm(0)
        found["others"] = noise.processors()
    found |= {"trained_on": X.shape[0], "features": X.shape[1], "n_sv": len(model.support_)}
    found |= scores(task, model, split) | certified(task, split, one, model, rows)
    if one.method.ours and model.trace_:  # empty: out of time before the end of a round
        found |= {"rounds": len(model.trace_), "engine_seconds": model.trace_[-1].seconds}
        found |= paper.remarks(one, model.trace_, watched)
    return found


def counted(work: Work, task: Task, split: Split, one: Measurement) -> Record:
    """A measurement that is not one fit, as the paper has it."""
    found: Record = {"status": "answer", "when": time.strftime("%Y-%m-%d %H:%M")}
    noise = Noise()
    alarm(one.limit)
    begun = time.perf_counter()
    known = work(task, split, one)
    found |= {"seconds": time.perf_counter() - begun} | known  # the paper may know better
    alarm(0)
    found |= {"others": noise.processors(), "features": split.X.shape[1]}
    return found | {"test_rows": len(split.y_test)}


def sampled(method: Method, n: int, seed: int) -> Any:
    """The rows that are trained on, in order; None for all."""
    if method.share >= 1:
        return None
    size = max(2, round(method.share * n))
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


def alarm(seconds: float) -> None:
    """Kill this process after so many seconds; 0: never mind."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def scores(task: Task, model: Any, split: Split) -> Record:
    """Accuracy; or mean squared error and correlation, and accuracy if the targets are -1 and 1."""
    truth = np.asarray(split.y_test)
    answer = np.asarray(model.predict(split.X_test))
    found: Record = {"test_rows": len(truth)}
    if task.kind == "svc":
        return found | {"accuracy": float(np.mean(answer == truth))}
    flat = answer.std() == 0
    found["mse"] = float(np.mean((answer - truth) ** 2))
    found["rho"] = 0.0 if flat else float(np.corrcoef(answer, truth)[0, 1])
    if set(np.unique(truth)) == {-1, 1}:
        found["accuracy"] = float(np.mean(np.sign(answer) == truth))
    return found


def certified(task: Task, split: Split, one: Measurement, model: Any, rows: Any) -> Record:
    """What is proved over all training rows, also over those that a sample left out."""
    if one.method.ours and rows is None:
        own = model.certificate_
        found = {"violation": own.kkt_violation, "relative_gap": own.relative_gap}
        return found | {"dual_objective": own.dual_objective, "certificate": own.status}
    n = split.X.shape[0]
    rows = np.arange(n) if rows is None else rows
    known = one.method.solver().solution(model, (rows, None))  # it asks for their number only
    coef = np.zeros((known.coef.shape[0], n))
    coef[:, rows] = known.coef
    whole = verdict(task, split.X, split.y, Solution(coef, known.classes), one.threads)
    return {key: whole[key] for key in ("violation", "relative_gap", "dual_objective")}


def main(text: str) -> None:
    warnings.simplefilter("ignore")
    asked = json.loads(text)
    chosen = [from_facts(facts) for facts in asked["measurements"]]
    for record in measure(PAPERS[asked["paper"]], chosen, warm=True):
        # a line of its own, whatever a library has printed without ending its line
        print("\n" + json.dumps(record), flush=True)


if __name__ == "__main__":
    main(sys.stdin.read())
