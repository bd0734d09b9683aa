"""Fits on a GPU beside those of the CPU: times, phases, certificates, and rates of scans."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any, cast

import numpy as np

import widestreet as ws
from widestreet import datasets
from widestreet._experiments.data import covtype, mnist
from widestreet._experiments.harness.clock import seconds
from widestreet._experiments.harness.tables import markdown
from widestreet._src.device.finding import gpu
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.rows import DeviceRows, as_rows

JOBS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "checkerboard 1e5": ("checkerboard", 100_000, {"gamma": 2.0, "C": 100.0}),
    "twonorm 1e5": ("twonorm", 100_000, {"gamma": 0.05, "C": 1.0}),
    "ringnorm 1e5": ("ringnorm", 100_000, {"gamma": 0.05, "C": 1.0}),
    "friedman 1e5": ("friedman", 100_000, {"gamma": 0.5, "C": 10.0, "epsilon": 1.0}),
    "checkerboard 1e6": ("checkerboard", 1_000_000, {"gamma": 2.0, "C": 100.0}),
    "twonorm 1e6": ("twonorm", 1_000_000, {"gamma": 0.05, "C": 1.0}),
    "covtype 2": ("covtype", 522_911, {"gamma": 1.0, "C": 10.0}),
}
LARGE: dict[str, tuple[str, int, dict[str, Any]]] = {
    "noisy 1e6": ("noisy", 1_000_000, {"gamma": 0.5, "C": 1.0}),
    "twonorm 1e7": ("twonorm", 10_000_000, {"gamma": 0.05, "C": 1.0}),
}
CLASSES: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "10 classes of 6,000": ("clouds", (10, 6000, 20), {"gamma": 0.05, "C": 1.0}),
    "50 classes of 600": ("clouds", (50, 600, 20), {"gamma": 0.05, "C": 1.0}),
    "mnist": ("mnist", (60_000,), {"gamma": 0.02, "C": 5.0}),
}
REPEATS = 5
FEW_ROWS = 100_000  # up to which the CPU is measured with one thread and with four
PHASES = ("exchange", "solve", "survey", "check")
SCANNED, VECTORS = 1_000_000, 16_384
COMPARED = 2000  # rows on which decision values are compared
SMALL = 3000  # rows of the problems whose certificates are compared


def machine(name: str, options: dict[str, Any], **more: Any) -> Any:
    make = ws.SVR if name == "friedman" else ws.SVC
    return make(tol=1e-3, random_state=0, **options, **more)


@cache
def draw(name: str, rows: int, seed: int = 7) -> tuple[Any, Any]:
    if name == "noisy":
        return noisy(rows, seed)
    if name == "covtype":
        X, y = covtype.scaled()
        some = np.random.default_rng(seed).permutation(len(X))[:rows]
        return X[some].astype(np.float32), np.where(y[some] == 2, 1, -1)
    X, y = getattr(datasets, name)(rows, random_state=seed)
    return X.astype(np.float32), y


@cache
def several(name: str, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return rows of several classes: digits, or overlapping normal clouds."""
    if name == "mnist":
        X, y, *_ = mnist.digits()
        return X[: shape[0]] / 255.0, y[: shape[0]].astype(np.int64)
    classes, rows, columns = shape
    rng = np.random.default_rng(7)
    y = np.repeat(np.arange(classes), rows)
    X = 0.5 * rng.standard_normal((classes, columns))[y] + rng.standard_normal((len(y), columns))
    return X.astype(np.float32), y


def noisy(rows: int, seed: int) -> tuple[Any, Any]:
    """Return rows of 8 columns of which a fifth is positive, and a third are support vectors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 8)).astype(np.float32)
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.8 * rng.standard_normal(rows)
    return X, np.where(f > np.quantile(f, 0.8), 1, -1)


def line(
    job: str, how: str, taken: list[float], model: Any, carried: int = 0, taken_memory: int = 0
) -> list[str]:
    """Return one line of the table of fits; the phases are those of the last fit."""
    phases: Counter[str] = Counter()
    for record in model.trace_:
        phases.update(record.timings)
    rest = taken[-1] - sum(phases[name] for name in PHASES)
    certificate = model.certificate_
    print(job, how, *(f"{one:.3f}" for one in taken), file=sys.stderr, flush=True)
    return [
        job,
        how,
        f"{np.median(taken):.3f}",
        f"{max(taken):.3f}",
        certificate.status,
        f"{certificate.kkt_violation:.1e}",
        f"{len(model.support_):,}",
        *(f"{phases[name]:.3f}" for name in PHASES),
        f"{rest:.3f}",
        f"{len(model.trace_)}",
        f"{model.trace_[-1].working_set:,}",
        f"{model.n_kernel_values_:.2e}",
        f"{carried / 1e6:,.0f}",
        f"{taken_memory / 1e6:,.0f}",
    ]


HEAD = ["job", "on", "median s", "worst", "status", "violation", "support vectors", *PHASES]
HEAD += ["other", "rounds", "working set", "kernel values", "MB over the bus"]
HEAD += ["MB on the device"]


def fitted(
    job: str, repeats: int, lend: Callable[[Any], Any] | None = None, **more: Any
) -> tuple[list[float], Any]:
    """Return the seconds of some fits of a job, and the last model; `lend` moves the rows."""
    name, rows, options = (JOBS | LARGE)[job]
    X, y = draw(name, rows)
    X, taken = X if lend is None else lend(X), []
    for _ in range(repeats):
        model = machine(name, options, **more)
        begun = time.perf_counter()
        model.fit(X, y)
        taken.append(time.perf_counter() - begun)
    return taken, model


def on_gpu(job: str, repeats: int, threads: int, rows_there: bool = False) -> list[str]:
    """Return the line of a job on the GPU, the first fit left out."""
    device = cast(Any, gpu())
    lend, place = (device.to, "device") if rows_there else (None, "host")
    [first], _ = fitted(job, 1, lend, device="cuda", n_jobs=threads)
    device.peak()
    before = device.carried
    taken, model = fitted(job, repeats, lend, device="cuda", n_jobs=threads)
    carried = (device.carried - before) // repeats
    how = f"rows in {place} memory (first {first:.2f} s)"
    return line(job, how, taken, model, carried, device.peak())


def fits(threads: int) -> str:
    """Return a table of fits on the GPU, of rows in the memory of the host and of the GPU."""
    lines = [on_gpu(job, REPEATS, threads, there) for there in (False, True) for job in JOBS]
    return markdown(HEAD, lines)


def large(threads: int) -> str:
    """Return a table of single fits of large jobs on the GPU."""
    device, lines = cast(Any, gpu()), []
    for job in LARGE:
        device.peak()
        before = device.carried
        taken, model = fitted(job, 1, device="cuda", n_jobs=threads)
        moved = device.carried - before
        lines.append(line(job, "rows in host memory", taken, model, moved, device.peak()))
    return markdown(HEAD, lines)


def cpu(threads: int) -> str:
    """Return a table of fits on the CPU: with all threads, and of short jobs with fewer."""
    lines = []
    for job, (_, rows, _) in JOBS.items():
        for count in sorted({1, 4, threads} if rows <= FEW_ROWS else {threads}):
            taken, model = fitted(job, 1, n_jobs=count)
            lines.append(line(job, f"{count} threads", taken, model))
    return markdown(HEAD, lines)


def classes(threads: int) -> str:
    """Return a table of fits of several classes on both, and how far the models are apart.

    The time of the solves is that of all pairs, one after the other.
    """
    lines = []
    for job, (name, shape, options) in CLASSES.items():
        X, y = several(name, shape)
        taken: dict[str, list[float]] = {}
        models: dict[str, Any] = {}
        for on, repeats in (("cuda", REPEATS + 1), ("cpu", 1)):
            taken[on] = []
            for _ in range(repeats):
                models[on] = machine(name, options, device=on, n_jobs=threads)
                taken[on].append(seconds(partial(models[on].fit, X, y)))
        some = np.random.default_rng(0).choice(len(X), min(len(X), COMPARED), replace=False)
        one, other = (
            models[on].set_params(decision_function_shape="ovo", device="cpu")
            for on in ("cpu", "cuda")
        )
        apart = np.abs(one.decision_function(X[some]) - other.decision_function(X[some])).max()
        for on, model in models.items():
            every, solve = model.certificates_, Counter[str]()
            for record in model.trace_:
                solve.update(record.timings)
            best = taken[on][1:] or taken[on]  # the first one compiles programs
            print(job, on, *(f"{t:.3f}" for t in taken[on]), file=sys.stderr, flush=True)
            lines.append(
                [
                    job,
                    on,
                    f"{np.median(best):.3f}",
                    f"{max(best):.3f}",
                    f"{taken[on][0]:.2f}",
                    f"{sum(c.status == 'optimal' for c in every)} of {len(every)}",
                    f"{max(c.kkt_violation for c in every):.1e}",
                    f"{solve['solve']:.3f}",
                    f"{sum(record.pair_steps for record in last_of(model)):,}",
                    f"{model.n_kernel_values_:.2e}",
                    f"{_objectives_apart(one, other):.1e}",
                    f"{apart:.1e}",
                ]
            )
    head = ["job", "on", "median s", "worst", "first", "optimal", "violation", "solve"]
    head += ["pair steps", "kernel values", "objectives apart, relative", "decision values apart"]
    return markdown(head, lines)


def last_of(model: Any) -> list[Any]:
    """Return the last record of each pair of classes."""
    return list({record.problem: record for record in model.trace_}.values())


def _objectives_apart(one: Any, other: Any) -> float:
    """Return the largest relative difference between dual objectives of the same pair."""
    left, right = (
        np.array([c.dual_objective for c in model.certificates_]) for model in (one, other)
    )
    return float((np.abs(left - right) / np.abs(left)).max())


def certificates(threads: int) -> str:
    """Return the largest differences between certificates of the same model by both devices."""
    names = ("checkerboard", "twonorm", "ringnorm", "friedman")
    lines = []
    for name, C, gamma in product(names, (0.5, 20.0), (0.02, 0.2, 1.0, 4.0, 0.5)):
        X, y = draw(name, SMALL)
        options = {"C": C, "gamma": gamma, "n_jobs": threads, "gap_tol": None}
        model = machine(name, options).fit(X, y)
        left, right = (ws.certify(model.set_params(device=on), X, y) for on in ("cpu", "cuda"))
        objective = abs(left.dual_objective - right.dual_objective) / abs(left.dual_objective)
        violation = abs(left.kkt_violation - right.kkt_violation)
        lines.append((objective, violation, left.status == right.status == "optimal"))
    found = np.array(lines, dtype=np.float64)
    head = ["problems", "optimal on both", "objectives apart, relative", "violations apart"]
    row = [f"{len(found)}", f"{found[:, 2].sum():.0f}"]
    return markdown(head, [[*row, f"{found[:, 0].max():.1e}", f"{found[:, 1].max():.1e}"]])


def scans(threads: int) -> str:
    """Return rates of scans with all transfers, and errors of half precision beside their bound."""
    rng, lines = np.random.default_rng(0), []
    for d in (2, 20, 54, 784):
        rows = SCANNED if d < 100 else SCANNED // 10
        X = rng.standard_normal((rows, d)).astype(np.float32)
        coef, few = rng.standard_normal(VECTORS), rng.choice(rows, min(rows, 2048), replace=False)
        host = as_rows(X, centred=True)
        gram = Gram(RBF(0.5 / d), DeviceRows(host, gpu(), 1 << 40), threads=threads)
        J, taken = rng.choice(rows, VECTORS), {}
        hold = seconds(lambda gram=gram, J=J: gram.scan(J[:64], J[:64], np.ones(64)))
        for name, dtype in (("half", np.float32), ("float64", np.float64)):
            gram.scan(None, J, coef, dtype=dtype)

            def scan(gram: Gram = gram, J: Any = J, coef: Any = coef, dtype: Any = dtype) -> None:
                gram.scan(None, J, coef, dtype=dtype)

            taken[name] = float(np.median([seconds(scan) for _ in range(3)]))
        rough = gram.rough_scan(few, J, coef)
        assert rough is not None
        exact = Gram(RBF(0.5 / d), host, threads=threads).scan(few, J, coef)
        double = np.abs(gram.scan(few, J, coef) - exact).max()
        rates = [f"{rows * VECTORS / one / 1e9:.0f}" for one in taken.values()]
        errors = [np.abs(rough[0] - exact).max(), rough[1].max(), double]
        lines.append([f"{d}", f"{rows:,}", f"{hold:.2f}", *rates, *(f"{e:.1e}" for e in errors)])
    head = ["d", "rows", "copy s", "1e9 values/s, half", "float64", "error of half", "its bound"]
    return markdown([*head, "GPU and CPU in float64 apart"], lines)


PARTS: dict[str, Callable[[int], str]] = {
    "scans": scans,
    "fits": fits,
    "large": large,
    "classes": classes,
    "certificates": certificates,
    "cpu": cpu,
}
