"""The tolerance table, fixtures that many files share, and the hypothesis profiles."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from support.combinations import chosen
from support.ports import divide_fits
from support.problems import Problem, generate
from widestreet import _core
from widestreet._src.engines.working_set import small as whole
from widestreet._src.training import examiner

threadpool_limits(1, "blas")  # tests run side by side, and threads of OpenBLAS wait by spinning

SEED = int(os.environ.get("WIDESTREET_TEST_SEED", "0"))  # 0: the same examples in every run
PORT = os.environ.get("WIDESTREET_TEST_PORT", "local")  # "pickling": see ports.py

# The first import of Triton decides whether its programs are interpreted, whichever test that is.
with suppress(ImportError, OSError):  # of a broken installation, which is like none
    if find_spec("torch") and not import_module("torch").cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"

# Ctrl-C is ignored in a shell's background jobs; tests send it, also to processes they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if SEED:  # every generator, those of the library included, starts elsewhere
    _default_rng = np.random.default_rng

    def _shifted(seed: Any = None) -> np.random.Generator:
        if isinstance(seed, Integral | Sequence):
            seed = [SEED, *np.ravel(seed)]
        return _default_rng(seed)

    np.random.default_rng = _shifted


if PORT == "pickling":  # every fit has several shards that forget
    divide_fits(parts=3, forget=0.2)
    examiner._ROWS_OF_THE_CORE = 0  # every certificate, too


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full",
        action="store_true",
        help="all combinations of the parameters of each test, more hypothesis examples",
    )
    parser.addoption(
        "--part",
        type=int,
        metavar="K",
        help="of the combinations of each test that is not about the core, take one in K",
    )


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile(
        "suite",
        deadline=None,
        max_examples=25 if config.getoption("--full") else 10,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=SEED == 0,
        print_blob=True,
    )
    settings.load_profile("suite")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out combinations of parameters, the same ones in every run."""
    if config.getoption("--full"):
        return
    left_out = set(items) - chosen(items, config.getoption("--part"))
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def chosen_rng(seed: int) -> np.random.Generator:
    """Return a generator of data that were chosen for what they are, whatever the SEED."""
    return np.random.Generator(np.random.PCG64(seed))


@pytest.fixture
def chosen_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all generators be those of SEED 0, for data that were chosen for what they are."""
    monkeypatch.setattr(np.random, "default_rng", chosen_rng)


@dataclass(frozen=True)
class Tolerances:
    """Every tolerance of the tests, and why it is what it is."""

    # -- solutions -----------------------------------------------------------------------------
    objective_rel: float = 1e-8  # dual objective against the reference QP, asked for tol = 1e-8
    feasibility: float = 1e-12  # box and sum residuals relative to the boxes: rounding only
    violation: float = 1e-8  # the tol asked for where a solution has to be as exact as possible
    twins: float = 1e-10  # the same where decision values are compared, which differ by more
    strategies_rel: float = 1e-6  # objectives of two strategies, each stopped at tol = 1e-4
    decision: float = 1e-7  # scores of two equivalent problems (merged rows, weights, order)
    sklearn_decision: float = 1e-7  # times max(10, sum|alpha|): LIBSVM keeps Q in float32
    monotone: float = 1e-12  # a dual objective may fall by this, relative: rounding of its sum
    figures: float = 16  # two float64 looks at one point, in ulps of the sizes of its terms
    certified_gap_rel: float = 1e-3  # gap over objective at tol = 1e-4 where both are of order n
    trace_rel: float = 1e-4  # a trace adds up float32 steps; the certificate starts afresh
    online: float = 1e-8  # times max(1, max|y|): violation of an online machine after every call
    detour: float = 1e-8  # decision values of an online machine after rows that came and went

    # -- kernels and scans ---------------------------------------------------------------------
    kernel_float64: float = 1e-13  # relative to max(1, |K|): some ulps, times gamma |x|^2
    kernel_float32: float = 5e-6  # the same with 24 bits
    scan_float64: float = 1e-13  # relative to sum |coef| max(1, |K|)
    scan_float32: float = 5e-6  # the same; its float32 partial sums are added up in float64
    exp_float32: float = 2.2e-7  # relative error of 2^z, stated in core/kernels/simd.hpp
    exp_float64: float = 4.5e-16  # the same in float64

    # -- twins: a native function against its NumPy version, the same arithmetic reordered ---------
    twin: float = 1e-10
    steps_rel: float = 0.5  # pair steps of two SMOs that break ties and round differently
    lengths: float = 2e-6  # sqrt(K(x, x)) is stated this much too long in certificates
    skip_safety: float = 1e-3  # lengths of changes are stated this much too long, as engines do
    newton_rel: float = 1e-7  # a Newton step against the reference: the condition of K_FF times eps

    # -- incremental nu-SVR ------------------------------------------------------------------------
    insvr_violation: float = 1e-8  # times max(1, max|y|): promised after every sample
    insvr_sum: float = 1e-10  # of C nu l: both sums of alpha
    insvr_tube: float = 1e-10  # half the width of a tube may be this much below zero
    inverse: float = 1e-8  # |MR - 1| of an inverse that is updated row by row

    # -- multiplicative updates ------------------------------------------------------------------
    simplex: float = 1e-12  # weights add up to one
    edge: float = 1e-8  # equation 16, relative to rho: what the paper's step has to meet
    mean_of_members: float = 1e-12  # an ensemble against the weighted mean of its members
    line_search: float = 5e-13  # of eta and of edge / variance, in which an edge met to 1e-13 shows
    bracket: float = 1e-12  # of rho: the bound of a point and rho* may cross by rounding

    # -- files for other programs ------------------------------------------------------------------
    onnx: float = 1e-12  # decision values of ONNX in float64, relative to the largest of them
    onnx_float32: float = 1e-4  # the same in float32: 24 bits, and sums of large coefficients

    # -- statistics --------------------------------------------------------------------------------
    estimated_gap: float = 0.5  # of a gap, at the engine's bias instead of the best one
    sampled: float = 0.03  # means over 10,000 rows and more, of numbers of size 1: four sigma

    # -- what is shown to people -------------------------------------------------------------------
    printed: float = 1e-5  # a number printed with six digits

    # -- the references against themselves -----------------------------------------------------
    exact: float = 1e-14  # two ways to write one float64 expression
    qp_gap: float = 1e-10  # the QP's own duality gap, relative to its objective
    qp_cancelled: float = 1e-12  # ... to the size of its terms, where they cancel to about 0
    strong_duality: float = 1e-8  # P - D at the optimum, relative: beta is rounded to float64
    smo_rel: float = 1e-9  # the literal SMO stopped at smo_tol, against the QP
    smo_tol: float = 1e-9


TOL = Tolerances()


@pytest.fixture(scope="session", name="TOL")
def tolerance_table() -> Tolerances:
    """The one tolerance table as a fixture; ``from conftest import TOL`` is the same object."""
    return TOL


@pytest.fixture(params=_core.instruction_sets())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each instruction set of this machine, in use during the test."""
    before = _core.instruction_set()
    _core.force_instruction_set(request.param)
    yield request.param
    _core.force_instruction_set(before)


@pytest.fixture
def by_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """No problem is small enough to be solved whole: the working-set engine solves them all."""
    monkeypatch.setattr(whole, "_MOST_ROWS", 0)


@pytest.fixture(autouse=True)
def by_rounds_over_shards(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a pickling port no fit is solved whole but in tests of that."""
    if PORT == "pickling" and request.node.get_closest_marker("whole") is None:
        monkeypatch.setattr(whole, "_MOST_ROWS", 0)


@pytest.fixture(autouse=True)
def without_the_port(request: pytest.FixtureRequest) -> None:
    """Behind a pickling port leave out tests of what such a port changes, and say why."""
    marker = request.node.get_closest_marker("in_process")
    if PORT == "pickling" and marker is not None:
        pytest.skip(marker.args[0])


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that starts afresh in every test."""
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """The client of a Dask cluster of processes."""
    from support.cluster import workers

    with workers() as client:
        yield client


@pytest.fixture(params=["svc", "svr"])
def task(request: pytest.FixtureRequest) -> str:
    """Classification and regression in turn."""
    return request.param


OF_THREE = " of three"  # classes
KINDS = ("svc", "nu_svc", "svr", "nu_svr", "one_class", "svc" + OF_THREE, "nu_svc" + OF_THREE)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The five machines in turn, classifiers with two classes and with three."""
    return request.param


@pytest.fixture(scope="session")
def problems() -> list[Problem]:
    """The 200 generated problems."""
    return generate()


@pytest.fixture(scope="session")
def convex_problems(problems: list[Problem]) -> list[Problem]:
    """Those of the 200 whose kernel matrix is positive semidefinite: objectives can be compared."""
    return [problem for problem in problems if problem.convex]
