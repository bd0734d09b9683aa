"""Folds from the model of all rows in one native call, against the QP of each fold."""

from __future__ import annotations

import threading
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from reference import duals, kernels, kkt
from reference.qp import solve_qp
from widestreet import _core

pytestmark = pytest.mark.numeric
GAMMA = 0.4
FOLDS = 3
TRAIN, TEST = 1, 2


class Data(NamedTuple):
    """Some classes, of which each pair is a problem, and the folds of the rows."""

    X: np.ndarray
    label: np.ndarray
    box: np.ndarray
    role: np.ndarray


class Exact(NamedTuple):
    """A problem solved by the QP: its dual, solution and scores of all rows."""

    dual: duals.BetaDual
    beta: np.ndarray
    score: np.ndarray


@cache
def data(seed: int) -> Data:
    """Random rows, some of them twice and some of weight zero."""
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(24, 60)), 2 + seed % 2
    label = rng.permutation(np.arange(n) % classes)
    X = rng.normal(size=(n, 3)) + rng.choice([0.3, 1.0, 3.0]) * label[:, None]
    X[rng.random(X.shape) < 0.3] = 0.0
    X[: n // 8], label[: n // 8] = X[-(n // 8) :], label[-(n // 8) :]
    box = 10.0 ** rng.uniform(-1, 2) * rng.choice([0.0, 0.5, 1.0, 2.0], n)
    role = np.full((FOLDS, n), TRAIN, np.uint8)
    role[rng.permutation(np.arange(n) % FOLDS), np.arange(n)] = TEST
    return Data(X.astype(np.float32).astype(np.float64), label, box, role)


def solved(X, y, box) -> Exact:
    K = kernels.matrix("rbf", X, X, gamma=GAMMA)
    qp = duals.c_svc(K, y, box)
    beta = np.array(qp.beta(solve_qp(qp.Q, qp.p, qp.A, qp.d, qp.upper).a), dtype=np.float64)
    snap = 1e-9 * max(1.0, box.max(initial=0.0))
    dual = duals.in_beta_space(qp)
    for bound in (dual.lower, dual.upper):
        beta = np.where(np.abs(beta - bound) <= snap, bound, beta)
    return Exact(dual, beta, np.asarray(kkt.scores(K, beta), dtype=np.float64))


@cache
def exact(seed: int) -> list[tuple[np.ndarray, Exact, list[Exact]]]:
    """Rows of each pair of classes, its problem, and those of its folds."""
    given = data(seed)
    found = []
    for i, j in combinations(range(given.label.max() + 1), 2):
        rows = np.flatnonzero((given.label == i) | (given.label == j))
        y = np.where(given.label[rows] == i, 1.0, -1.0)
        boxes = [given.box[rows] * (role[rows] == TRAIN) for role in given.role]
        whole, *folds = (solved(given.X[rows], y, box) for box in [given.box[rows], *boxes])
        found.append((rows, whole, folds))
    return found


def held(X, storage="dense", dtype=np.float64) -> _core.Rows:
    if storage == "dense":
        return _core.Rows.dense(X.astype(dtype), None)
    rows = sparse.csr_matrix(X.astype(dtype))
    return _core.Rows.csr(rows.data, rows.indices, rows.indptr, *X.shape)


def hold_out(rows, parts, role, **options):
    """Decision values and reports; `parts` are row numbers, a dual and its solution."""
    index, problems, beta = zip(*parts, strict=True)
    arrays = (np.concatenate([getattr(d, a) for d in problems], axis=1) for a in FIELDS)
    defaults = {"tol": TOL.twins, "near": 0.0, "in_double": True, "most_near": 1000, "threads": 1}
    return _core.hold_out(
        _core.Kernel(_core.KernelKind.rbf, GAMMA, 0.0, 1),
        rows,
        np.concatenate(index),
        _core.Variables(
            *(np.ascontiguousarray(a, dtype=np.float64) for a in arrays),
            np.zeros((1, sum(map(len, index))), np.uint8),
            groups=1,
        ),
        np.concatenate(beta, axis=1),
        end=np.cumsum([len(part) for part in index]),
        role=role,
        **defaults | options,
    )


FIELDS = ("target", "lower", "upper")


def require_optimal(values, tested, fold: Exact, violation: float) -> None:
    """Check decision values of a point whose violation is known.

    With D = beta - beta*, D'KD <= violation |D|_1 / 2, so scores differ by the root of it at most.
    The bias is one of the least loss.
    """
    width = float((fold.dual.upper - fold.dual.lower).sum())
    error = np.sqrt(violation * width)
    bias = values - fold.score[tested]
    assert np.ptp(bias) <= 2 * error
    F = (fold.dual.target - fold.score)[0]

    def loss(b):
        return float(kkt.loss(F, fold.dual.lower[0], fold.dual.upper[0], b))

    assert loss(bias.mean()) <= min(map(loss, F)) + (4 * error + violation) * width


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("near", [0.0, 0.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("in_double", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_values_are_those_of_folds_solved_alone(seed, in_double, storage, dtype, near, threads):
    given = data(seed)
    tol = TOL.twins if in_double else 1e-3
    values, reports = hold_out(
        held(given.X, storage, dtype),
        [(rows, whole.dual, whole.beta) for rows, whole, _ in exact(seed)],
        given.role,
        tol=tol,
        near=near,
        in_double=in_double,
        threads=threads,
    )
    assert (reports[:, 0] <= tol).all()
    end = 0
    for rows, whole, folds in exact(seed):
        begin, end = end, end + len(rows)
        size = 1.0 + np.abs(whole.dual.upper - whole.dual.lower).sum()
        rounding = (TOL.scan_float64 if in_double else TOL.scan_float32) * size
        for role, fold in zip(given.role, folds, strict=True):
            tested = role[rows] == TEST
            require_optimal(values[begin:end][tested], tested, fold, tol + 2 * rounding)


def small(n=40, box=1.0):
    """Two classes, their dual, and zero as its solution."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    dual = duals.in_beta_space(duals.c_svc(np.eye(n), y, np.full(n, box)))
    return X, (np.arange(n), dual, np.zeros((1, n)))


def test_without_boxes_values_are_zero():
    X, part = small(box=0.0)
    role = np.full((1, len(X)), TEST, np.uint8)
    values, reports = hold_out(held(X), [part], role)
    assert not values.any()
    assert reports[0, 0] == 0


def test_all_rows_in_one_fold():
    """There is nothing to train on."""
    X, (rows, dual, beta) = small()
    beta[:] = 0.5 * np.sign(dual.target)
    role = np.full((2, len(X)), TRAIN, np.uint8)
    role[0] = TEST
    values, reports = hold_out(held(X), [(rows, dual, beta)], role)
    np.testing.assert_allclose(values, 0.0, rtol=0, atol=TOL.decision)
    assert reports[0, 0] <= TOL.twins


@pytest.mark.parametrize("left", [0, 1])
def test_one_row_per_class(left):
    """Without the other class, the value is that of the class."""
    X, (_, dual, _) = small(2)
    role = np.full((1, 2), TRAIN, np.uint8)
    role[0, left] = TEST
    solution = solved(X, dual.target[0], np.ones(2))
    values, reports = hold_out(held(X), [(np.arange(2), dual, solution.beta)], role)
    assert values[left] == pytest.approx(dual.target[0, 1 - left])
    assert np.isnan(values[1 - left])
    assert reports[0, 0] == 0


def test_no_folds():
    X, part = small()
    values, _ = hold_out(held(X), [part], np.zeros((0, len(X)), np.uint8))
    assert np.isnan(values).all()


@pytest.mark.parametrize("place", ["rows", "beta", "target", "upper"])
def test_what_is_not_finite_ends(place):
    """Its caller refuses it. Where scores show it, the problem counts as not solved."""
    X, (rows, dual, beta) = small()
    arrays = {"rows": X, "beta": beta, "target": dual.target, "upper": dual.upper}
    arrays[place].flat[5] = np.nan
    role = np.full((2, len(X)), TRAIN, np.uint8)
    role[0, :20] = role[1, 20:] = TEST
    _, reports = hold_out(held(X), [(rows, dual, beta)], role)
    if place in ("beta", "target"):
        assert np.isinf(reports[0, 0])


@pytest.mark.parametrize("options", [{"most_near": 5}, {"tol": -1.0}, {"most_near": -1}])
def test_what_is_not_solved_is_reported(options):
    X, part = small()
    role = np.full((1, len(X)), TRAIN, np.uint8)
    role[0, :20] = TEST
    _, reports = hold_out(held(X), [part], role, **options)
    assert not reports[0, 0] <= options.get("tol", TOL.twins)


@pytest.mark.parametrize("threads", [1, 3])
def test_poll_ends_it(threads):
    def poll():
        raise RuntimeError("enough")

    parts = [(rows, whole.dual, whole.beta) for rows, whole, _ in exact(1)]
    with pytest.raises(RuntimeError, match="enough"):
        hold_out(held(data(1).X), parts, data(1).role, threads=threads, poll=poll)


def test_the_caller_polls_while_others_work():
    """Python handles signals on the main thread, which may have no problem left to solve.

    Another thread is held up in its first call until the caller has polled more often than its own
    problem lets it.
    """
    given, (rows, whole, _) = data(2), exact(2)[0]
    caller, polled, enough = threading.get_ident(), [], threading.Event()

    def poll():
        if threading.get_ident() != caller:
            assert enough.wait(timeout=60.0)
            return
        polled.append(None)
        if len(polled) >= 100:
            enough.set()

    part = (rows, whole.dual, whole.beta)
    hold_out(held(given.X), [part, part], given.role, threads=2, poll=poll)
