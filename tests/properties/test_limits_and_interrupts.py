"""Budgets and manners: time, steps, memory, Ctrl-C, silence, threads."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import ModuleType

import numpy as np
import psutil
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

import widestreet as ws
from conftest import TOL
from reference import duals, kernels, kkt
from support.clocks import SimulatedClock
from support.fitting import beta_of, coefficients, cut_short, decision, fitted
from support.interrupted import GENEROUS, Interrupting, long_problem
from support.machines import assert_same_function, data, machine
from support.problems import kernel_matrix, reference_qp, toy_svc, toy_svr
from widestreet._src.engines.working_set.tile import WorkingSet
from widestreet._src.estimators.batch import BatchFit
from widestreet._src.training import examiner
from widestreet.datasets import twonorm
from widestreet.strategies import Auto

# -- silence -----------------------------------------------------------------------------------


def test_silent_by_default(kind, capfd):
    X, y = data(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decision(machine(kind).fit(X, y), X)
    assert capfd.readouterr() == ("", "")


def test_logging_says_nothing_unless_asked(kind, caplog):
    with caplog.at_level(logging.INFO):
        machine(kind).fit(*data(kind))
    assert caplog.records == []
    assert logging.getLogger("widestreet").handlers == []


def test_signal_handlers_and_random_state_are_left_alone(kind):
    handler = signal.getsignal(signal.SIGINT)
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - this is the one not to touch
    machine(kind, random_state=0).fit(*data(kind))
    assert signal.getsignal(signal.SIGINT) is handler
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


# -- time and steps ----------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.3, 1.0])
def test_max_time_is_honoured(task, seconds):
    X, y, model = long_problem(task)
    begun = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"time_limit.*max_time") as caught:
        model.set_params(max_time=seconds).fit(X, y)
    assert time.perf_counter() - begun < seconds + GENEROUS
    assert [warning.filename for warning in caught] == [__file__]
    assert model.certificate_.status == "time_limit"
    assert model.fit_status_ == 1
    assert np.isfinite(decision(model, X[:100])).all()


def on_a_simulated_clock(monkeypatch, seconds: float) -> ws.SVC:
    """Fit with a kernel so slow that nothing else takes time, and with a time limit."""
    clock = SimulatedClock(monkeypatch)

    def slow(A, B):
        clock.wait(0.1 * len(A) / len(X))  # the same for one shard and for several
        return kernels.matrix("rbf", A, B, gamma=0.5)

    X, y = twonorm(300, random_state=0)
    small = Auto(start_size=4, max_size=8)
    model = ws.SVC(kernel=slow, strategy=small, tol=1e-9, max_time=seconds, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"time_limit.*violation.*no duality gap.*max_time"):
        return model.fit(X, y)


def test_a_time_limit_leaves_time_for_the_certificate(monkeypatch):
    model = on_a_simulated_clock(monkeypatch, 1.5)
    assert model.certificate_.n_rows == 300
    assert np.isfinite(model.certificate_.primal_objective)


def test_a_longer_time_gives_a_better_point(monkeypatch):
    values = [
        on_a_simulated_clock(monkeypatch, seconds).certificate_.dual_objective
        for seconds in (0.5, 1.0, 1.5)
    ]
    for one, other in pairwise(values):
        assert one < other


@pytest.mark.parametrize("strategy", ["auto", "smo"])
def test_max_iter_limits_pair_steps(kind, strategy):
    X, y = data(kind)
    model = machine(kind, max_iter=20, strategy=strategy)
    with pytest.warns(ConvergenceWarning, match=r"iteration_limit.*gap.*max_iter"):
        model.fit(X, y)
    assert model.certificate_.status == "iteration_limit"
    assert np.max(model.n_iter_) == 20
    enough = machine(kind, max_iter=10**6, strategy=strategy).fit(X, y)
    assert enough.certificate_.status == "optimal"
    assert_same_function(enough, machine(kind, strategy=strategy).fit(X, y), X)


def test_a_limit_that_is_never_reached_changes_nothing(kind):
    X, y = data(kind)
    one, other = machine(kind).fit(X, y), machine(kind, max_time=1e6, max_iter=10**9).fit(X, y)
    assert np.array_equal(one.dual_coef_, other.dual_coef_)


# -- Ctrl-C ------------------------------------------------------------------------------------


def test_an_interrupt_at_any_call_leaves_a_model(kind):
    X, y = data(kind, 60)
    whole = Interrupting(None)
    small = Auto(start_size=16, max_size=32)
    machine(kind, kernel=whole, strategy=small).fit(X, y)
    assert whole.calls > 5
    for at in range(1, whole.calls + 1):
        model = machine(kind, kernel=Interrupting(at), strategy=small, on_interrupt="keep")
        with pytest.warns(ConvergenceWarning, match=r"interrupted.*(gap|certif)"):
            model.fit(X, y)
        assert model.certificate_.status == "interrupted"
        assert model.fit_status_ == 1
        assert np.isfinite(decision(model, X)).all()
        if kind in ("svc", "svr"):
            coef = coefficients(model)
            assert np.abs(coef).max(initial=0.0) <= model.C
            assert abs(coef.sum()) <= TOL.feasibility * model.C * len(y)


def test_an_interrupt_is_raised_by_default(kind):
    X, y = data(kind, 60)
    model = machine(kind, kernel=Interrupting(4), strategy=Auto(start_size=16, max_size=32))
    with (
        pytest.warns(ConvergenceWarning, match=r"interrupted.*(gap|certif)"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, y)
    assert model.certificate_.status == "interrupted"
    assert np.isfinite(decision(model, X)).all()


MEASURED_HERE = pytest.mark.in_process(
    "pairs of classes in memory are forecast from the kernel values that this process computes"
)


@pytest.mark.parametrize("kind", ["svr", pytest.param("svc of three", marks=MEASURED_HERE)])
def test_how_long_a_proof_takes_is_known_from_the_fit(kind):
    """After an interrupt, one that would take long is left out: here about a second."""
    interrupting = Interrupting(5)

    def slow(A, B):
        time.sleep(2e-4 * len(A) * len(B))
        return interrupting(A, B)

    small = Auto(start_size=16, max_size=32)
    model = machine(kind, kernel=slow, strategy=small, on_interrupt="keep")
    with pytest.warns(ConvergenceWarning, match=r"interrupted.*before the model was certified"):
        model.fit(*data(kind))
    assert model.certificate_.n_rows == 0


@pytest.mark.usefixtures("by_rounds")
def test_a_model_nobody_had_time_to_examine_states_its_own_objective(task, monkeypatch):
    """Interrupted in the middle of a working set: what it says belongs to what it returns."""
    problem = toy_svc(60) if task == "svc" else toy_svr(60)
    solve = WorkingSet.solve

    def interrupted(self, tol, max_steps, block, direct_steps):
        solve(self, tol, 5, block, direct_steps)
        raise KeyboardInterrupt

    monkeypatch.setattr(WorkingSet, "solve", interrupted)
    monkeypatch.setattr(examiner, "ANSWER_WITHIN", -1.0)
    with cut_short():
        model = fitted(problem, on_interrupt="keep")
    assert (model.certificate_.status, model.certificate_.n_rows) == ("interrupted", 0)
    assert len(model.support_) > 0
    dual = duals.in_beta_space(reference_qp(problem))
    value = kkt.dual_objective(kernel_matrix(problem), dual, beta_of(model))
    assert model.certificate_.dual_objective == pytest.approx(value, rel=TOL.trace_rel)


CHILD = """
    import json, sys, time
    import numpy as np
    from support.fitting import decision
    from support.interrupted import long_problem

    for line in sys.stdin:
        task, mode = line.split()
        X, y, model = long_problem(task, 150_000)
        model.set_params(on_interrupt=mode, n_jobs=2)
        print("fitting", flush=True)
        raised = False
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            raised = True
        ended = time.process_time()
        finite = bool(np.isfinite(decision(model, X[:1000])).all())
        found = {"raised": raised, "status": model.certificate_.status, "finite": finite}
        print(json.dumps({"ended": ended} | found), flush=True)
"""


@pytest.mark.parametrize("mode", ["raise", "keep"])
def test_an_interrupt_after_training_does_not_lose_the_model(kind, mode, monkeypatch):
    adopt = BatchFit._adopt

    def late(self, *arguments, **more):
        os.kill(os.getpid(), signal.SIGINT)
        adopt(self, *arguments, **more)

    monkeypatch.setattr(BatchFit, "_adopt", late)
    model, given = machine(kind, on_interrupt=mode), data(kind)
    if mode == "keep":
        model.fit(*given)
    else:
        with pytest.raises(KeyboardInterrupt):
            model.fit(*given)
    assert model.certificate_.status == "optimal"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture(scope="module")
def child() -> Iterator[subprocess.Popen]:
    """A process that fits a model for each line "task mode" on its input."""
    path = os.pathsep.join(p for p in sys.path if p)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    yield process
    process.kill()
    process.communicate()


def interrupt_after_a_second(child: subprocess.Popen, task: str, mode: str) -> dict:
    """Return the report of a fit in another process, and its processor time after the signal."""
    late = threading.Timer(60, child.kill)
    late.start()
    child.stdin.write(f"{task} {mode}\n")
    child.stdin.flush()
    assert child.stdout.readline().strip() == "fitting"
    time.sleep(1.0)
    used = psutil.Process(child.pid).cpu_times()
    child.send_signal(signal.SIGINT)
    report = json.loads(child.stdout.readline())
    late.cancel()
    return report | {"worked": report["ended"] - used.user - used.system}


@pytest.mark.alone
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent the POSIX way")
@pytest.mark.parametrize(
    ("task", "mode"), [("svc", "raise"), ("svc", "keep"), ("svr", "keep"), ("ensemble", "keep")]
)
def test_ctrl_c_is_answered_within_half_a_second_of_two_processors(child, task, mode):
    """Processor time is counted: other processes may take the time of the clock."""
    report = interrupt_after_a_second(child, task, mode)
    assert report["status"] == "interrupted"
    assert report["raised"] == (mode == "raise")
    assert report["finite"]
    assert report["worked"] <= 2 * 0.5


# -- memory ------------------------------------------------------------------------------------

MEASURED = """
    import resource, sys, warnings
    import numpy as np
    import widestreet as ws
    from widestreet.datasets import twonorm

    def peak():
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    warnings.simplefilter("ignore")
    X, y = twonorm(1_000_000, random_state=0, dtype=np.float32)
    ws.SVC().fit(X[:500], y[:500])  # whatever is loaded and started once
    before = peak()
    model = ws.SVC(gamma=0.05, max_memory="1GB", max_iter=6000, random_state=0).fit(X, y)
    model.predict(X[:100_000])
    print(peak() - before, max(record.working_set for record in model.trace_))
"""


@pytest.mark.alone
@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
def test_a_million_rows_in_a_gigabyte():
    """Peak resident memory minus what was there before, which includes the data."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASURED)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    used, working_set = map(int, done.stdout.split())
    assert working_set > 2000  # it was at work
    assert used < 1.2e9


def test_less_memory_is_a_smaller_working_set_and_the_same_function(task):
    """Tiles are the only large thing; the least there may be holds fewer rows than are needed."""
    X, y = data(task, 3000)
    roomy = machine(task, C=1.0, tol=1e-5).fit(X, y)
    with pytest.raises(ValueError, match="max_memory") as caught:
        machine(task, max_memory=1).fit(X, y)
    least = int(str(caught.value).split("at least ")[1].split(" ")[0].replace(",", ""))
    tight = machine(task, C=1.0, tol=1e-5, max_memory=least).fit(X, y)
    assert max(record.working_set for record in tight.trace_) <= 256 < len(tight.support_)
    assert tight.certificate_.status == roomy.certificate_.status == "optimal"
    difference = np.abs(decision(roomy, X) - decision(tight, X)).max()
    assert difference <= 2 * roomy.tol * np.abs(roomy.dual_coef_).sum()


# -- threads -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_n_jobs_holds_for_linear_algebra_too(kind, n_jobs):
    """Newton steps factorise matrices: more BLAS threads than asked for would be a surprise."""
    seen = []

    class Watching(Auto):
        def finished(self, situation):
            seen.append(blas_threads())
            return super().finished(situation)

    before = blas_threads()
    machine(kind, n_jobs=n_jobs, strategy=Watching()).fit(*data(kind))
    assert seen
    assert max(seen) <= n_jobs
    assert blas_threads() == before


def blas_threads() -> int:
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def test_fits_in_several_threads_of_python(kind):
    X, y = data(kind)
    alone = machine(kind).fit(X, y)
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(lambda _: machine(kind).fit(X, y), range(8)))
    for model in models:
        assert np.array_equal(model.dual_coef_, alone.dual_coef_)


# -- names -------------------------------------------------------------------------------------


def test_dir_shows_what_is_public():
    assert dir(ws) == sorted(ws.__all__)
    assert all(hasattr(ws, name) for name in dir(ws))
    modules = {name for name in dir(ws) if isinstance(getattr(ws, name), ModuleType)}
    assert modules == {"datasets", "io", "model_selection", "online", "plots", "strategies"}
