"""Calls that the core has to refuse. Run as a script, each in a process of its own.

Every case is a function without arguments that should raise. Prints one JSON object: the name of
the case and what happened, "TypeError: ...", "accepted" or "killed by signal 11". The processes
are forked before any native thread exists, and a case may corrupt nothing but its own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from widestreet import _core

N, D = 6, 3
INDEX = np.arange(N)
WAIT = 10  # seconds for a case that never returns


def X() -> np.ndarray:
    return np.arange(N * D, dtype=np.float64).reshape(N, D) / 16


def csr(**replaced: Any) -> _core.Rows:
    """Six rows with one entry each, or what is left of them after replacing an argument."""
    arguments = {
        "values": np.ones(N),
        "indices": np.array([0, 1, 2, 0, 1, 2], dtype=np.int32),
        "indptr": np.arange(N + 1, dtype=np.int32),
        "n": N,
        "d": D,
    }
    return _core.Rows.csr(**arguments | replaced)


def wide(columns: list[int], indptr: list[int] | None = None, count: int = N) -> _core.Rows:
    """CSR rows used in a scan, so that wrong indices are followed."""
    starts = np.arange(N + 1) if indptr is None else np.array(indptr)
    held = _core.Rows.csr(np.ones(count), np.array(columns), starts, N, D)
    kernel = _core.Kernel(_core.KernelKind.rbf, 1.0, 0.0, 1)
    _core.scan(kernel, held, None, held, None, np.ones((1, N)), np.zeros((1, N)), True, 1)
    return held


def scan(**replaced: Any) -> None:
    rows = _core.Rows.dense(X(), None)
    arguments = {
        "kernel": _core.Kernel(_core.KernelKind.rbf, 1.0, 0.0, 1),
        "left": rows,
        "left_index": None,
        "right": rows,
        "right_index": None,
        "coef": np.ones((1, N)),
        "out": np.zeros((1, N)),
        "in_double": True,
        "threads": 1,
    }
    _core.scan(**arguments | replaced)


def tile(**replaced: Any) -> None:
    rows = _core.Rows.dense(X(), None)
    arguments = {
        "kernel": _core.Kernel(_core.KernelKind.rbf, 1.0, 0.0, 1),
        "left": rows,
        "left_index": None,
        "right": rows,
        "right_index": None,
        "out": np.zeros((N, N)),
        "out_rows": None,
        "threads": 1,
    }
    _core.tile(**arguments | replaced)


def scan_packed(**replaced: Any) -> None:
    rows = _core.Rows.dense(X(), None)
    kernel = _core.Kernel(_core.KernelKind.rbf, 1.0, 0.0, 1)
    arguments = {
        "right": _core.pack(kernel, rows, None, 1),
        "left": rows,
        "coef": np.ones((1, N)),
        "out": np.zeros((1, N)),
        "threads": 1,
    }
    _core.scan_packed(**arguments | replaced)


def add_shapley_values(**replaced: Any) -> None:
    rows = _core.Rows.dense(X(), None)
    arguments = {
        "kernel": _core.Kernel(_core.KernelKind.rbf, 1.0, 0.0, 1),
        "rows": rows,
        "background": rows,
        "vectors": rows,
        "vector_index": INDEX,
        "node": np.array([0.5]),
        "weight": np.array([1.0]),
        "coef": np.ones((2, N)),
        "out": np.zeros((N, D, 2)),
        "threads": 1,
    }
    _core.add_shapley_values(**arguments | replaced)


def variables(**replaced: Any) -> _core.Variables:
    y = np.array([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]])
    arguments = {
        "target": y,
        "lower": np.minimum(y, 0),
        "upper": np.maximum(y, 0),
        "group": np.zeros((1, N), dtype=np.uint8),
        "groups": 1,
    }
    return _core.Variables(**arguments | replaced)


def point(**replaced: Any) -> dict[str, Any]:
    """Variables, their coefficients and the scores of the rows."""
    arguments = {"variables": variables(), "beta": np.zeros((1, N)), "score": np.zeros(N)}
    return arguments | replaced


def solve(**replaced: Any) -> None:
    arguments = {"tile": np.eye(N), "tol": 1e-3, "max_steps": 100, "block": 1024, "threads": 1}
    _core.solve(**point() | arguments | replaced)


def newton_steps(**replaced: Any) -> None:
    _core.newton_steps(**point() | {"tile": np.eye(N), "threads": 1} | replaced)


def solve_small(**replaced: Any) -> None:
    arguments = {
        "kernel": _core.Kernel(_core.KernelKind.rbf, 1.0, 0.0, 1),
        "rows": _core.Rows.dense(X(), None),
        "index": INDEX,
        "end": np.array([N]),
        "max_steps": np.array([100]),
        "tol": 1e-3,
        "threads": 1,
    }
    _core.solve_small(**point() | arguments | replaced)


def hold_out(**replaced: Any) -> None:
    arguments = {
        "kernel": _core.Kernel(_core.KernelKind.rbf, 1.0, 0.0, 1),
        "rows": _core.Rows.dense(X(), None),
        "index": INDEX,
        "variables": variables(),
        "beta": np.zeros((1, N)),
        "end": np.array([N]),
        "role": np.array([[1, 1, 1, 1, 2, 2]], dtype=np.uint8),
        "tol": 1e-3,
        "near": 0.25,
        "in_double": True,
        "most_near": N,
        "threads": 1,
    }
    _core.hold_out(**arguments | replaced)


def examine(**replaced: Any) -> None:
    _core.examine(**point() | {"end": np.array([N]), "total": np.zeros((1, 1))} | replaced)


def extremes(**replaced: Any) -> None:
    _core.extremes(**point() | replaced)


def slack(**replaced: Any) -> None:
    _core.slack(**point() | {"least": np.zeros(1), "most": np.zeros(1)} | replaced)


def shard(**replaced: Any) -> _core.Shard:
    arguments = point() | {"version": np.zeros(N, dtype=np.int32), "norm": None}
    return _core.Shard(**arguments | replaced)


def mark_cells(**replaced: Any) -> None:
    """A grid of two cells over three features."""
    arguments = {
        "rows": _core.Rows.dense(X(), None),
        "index": None,
        "low": np.zeros(D),
        "half": np.ones(D),
        "count": np.array([2, 1, 1]),
        "occupied": np.zeros(2, np.uint8),
        "threads": 1,
    }
    _core.mark_cells(**arguments | replaced)


def interpolate(**replaced: Any) -> None:
    arguments = {
        "rows": _core.Rows.dense(X(), None),
        "index": None,
        "low": np.zeros(D),
        "half": np.ones(D),
        "count": np.array([2, 1, 1]),
        "place": np.array([0, 1]),
        "coef": np.zeros((1, 2, 16**D)),
        "out": np.zeros((1, N)),
        "threads": 1,
    }
    _core.interpolate(**arguments | replaced)


def triage(held: _core.Shard | None = None, **replaced: Any) -> None:
    arguments = {
        "offset": 0,
        "stride": 1,
        "begin": 0,
        "end": N,
        "bias": np.zeros(1),
        "drift": np.zeros(1),
        "threads": 1,
    }
    (held or shard()).triage(**arguments | replaced)


def judge(held: _core.Shard | None = None, **replaced: Any) -> None:
    arguments = {"rows": INDEX, "bias": np.zeros(1), "tol": 0.0, "threads": 1}
    (held or shard()).judge(**arguments | replaced)


def relocate(**replaced: Any) -> None:
    slots = {"from_slots": np.array([5]), "to_slots": np.array([0])}
    _core.relocate(**{"tile": np.eye(N), "size": N, "threads": 1} | slots | replaced)


def mirror(**replaced: Any) -> None:
    _core.mirror(**{"tile": np.eye(N), "size": N, "slots": INDEX, "threads": 1} | replaced)


def first_equal(**replaced: Any) -> None:
    arguments = {"rows": _core.Rows.dense(X(), None), "label": np.zeros(N), "threads": 1}
    _core.first_equal(**arguments | replaced)


def times(**replaced: Any) -> None:
    arguments = {"A": X(), "x": np.ones((2, D)), "out": np.zeros((2, N)), "threads": 1}
    _core.times(**arguments | {"transposed": False} | replaced)


def frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def strided(array: np.ndarray) -> np.ndarray:
    """The same values, not next to each other."""
    return np.repeat(array, 2, axis=-1)[..., ::2]


SCALAR = np.array(1.0)
FAR = np.array([0, 1, 2, 3, 4, N])
BACK = np.array([0, 1, 2, 3, 4, -1])
TWO_GROUPS = np.array([[0, 1, 0, 1, 0, 1]], dtype=np.uint8)

CASES: dict[str, Callable[[], Any]] = {
    # rows
    "dense: integers": lambda: _core.Rows.dense(X().astype(np.int64), None),
    "dense: half precision": lambda: _core.Rows.dense(X().astype(np.float16), None),
    "dense: complex": lambda: _core.Rows.dense(X().astype(np.complex128), None),
    "dense: objects": lambda: _core.Rows.dense(X().astype(object), None),
    "dense: list": lambda: _core.Rows.dense(X().tolist(), None),
    "dense: one dimension": lambda: _core.Rows.dense(X()[0], None),
    "dense: no dimension": lambda: _core.Rows.dense(SCALAR, None),
    "dense: swapped bytes": lambda: _core.Rows.dense(X().astype(">f8"), None),
    "dense: short centre": lambda: _core.Rows.dense(X(), np.zeros(D - 1)),
    "dense: float32 centre": lambda: _core.Rows.dense(X(), np.zeros(D, np.float32)),
    "csr: integer values": partial(csr, values=np.ones(N, dtype=np.int64)),
    "csr: values in two dimensions": partial(csr, values=np.ones((N, 1))),
    "csr: scalar indptr": partial(csr, indptr=np.array(0, dtype=np.int32)),
    "csr: strided values": partial(csr, values=strided(np.ones(N))),
    "csr: strided indices": partial(csr, indices=strided(np.zeros(N, np.int32))),
    "csr: strided indptr": partial(csr, indptr=strided(np.arange(N + 1, dtype=np.int32))),
    "csr: two kinds of index": partial(csr, indices=np.zeros(N, dtype=np.int64)),
    "csr: short indices in 16 bits": partial(
        csr, indices=np.zeros(N, np.int16), indptr=np.arange(N + 1, dtype=np.int16)
    ),
    "csr: short indptr": partial(csr, indptr=np.arange(N, dtype=np.int32)),
    "csr: fewer values than indices": partial(csr, values=np.ones(N - 1)),
    "csr: indptr beyond the values": partial(wide, [0] * N, [0, 1, 2, 3, 4, 5, 10**9]),
    "csr: indptr going back": partial(wide, [0] * N, [0, 1, 2, 10**9, 4, 5, 6]),
    "csr: negative indptr": partial(wide, [0] * N, [-(10**9), 1, 2, 3, 4, 5, 6]),
    "csr: column out of range": partial(wide, [0, 1, 2, 0, 1, 10**9]),
    "csr: column one too far": partial(wide, [0, 1, 2, 0, 1, D]),
    "csr: negative column": partial(wide, [0, 1, 2, 0, 1, -(10**9)]),
    # scan
    "scan: other columns": lambda: scan(left=_core.Rows.dense(np.ones((N, D + 1)), None)),
    "scan: short coef": partial(scan, coef=np.ones((1, N - 1))),
    "scan: long coef": partial(scan, coef=np.ones((1, N + 1))),
    "scan: float32 coef": partial(scan, coef=np.ones((1, N), np.float32)),
    "scan: strided coef": partial(scan, coef=strided(np.ones(N))[None]),
    "scan: short out": partial(scan, out=np.zeros((1, N - 1))),
    "scan: float32 out": partial(scan, out=np.zeros((1, N), np.float32)),
    "scan: strided out": partial(scan, out=strided(np.zeros(N))[None]),
    "scan: frozen out": partial(scan, out=frozen(np.zeros((1, N)))),
    "scan: one-dimensional out": partial(scan, out=np.zeros(N)),
    "scan: transposed out": partial(scan, out=np.zeros((N, 1))),
    "scan: more sets of coef than of out": partial(scan, coef=np.ones((2, N))),
    "scan: left index too far": partial(scan, left_index=FAR),
    "scan: negative left index": partial(scan, left_index=BACK),
    "scan: right index too far": partial(scan, right_index=FAR),
    "scan: negative right index": partial(scan, right_index=BACK),
    "scan: int32 index": partial(scan, left_index=INDEX.astype(np.int32)),
    "scan: strided index": partial(scan, left_index=strided(INDEX)),
    "scan: a mask for an index": partial(scan, left_index=np.ones(N, dtype=bool)),
    "scan: no rows": partial(scan, left=None),
    "scan: no threads": partial(scan, threads=0),
    "scan: negative threads": partial(scan, threads=-1),
    # tile
    "tile: other columns": lambda: tile(right=_core.Rows.dense(np.ones((N, D + 1)), None)),
    "tile: integer out": partial(tile, out=np.zeros((N, N), np.int64)),
    "tile: column-major out": partial(tile, out=np.zeros((N, N), order="F")),
    "tile: strided out": partial(tile, out=strided(np.zeros((N, N)))),
    "tile: frozen out": partial(tile, out=frozen(np.zeros((N, N)))),
    "tile: one-dimensional out": partial(tile, out=np.zeros(N * N)),
    "tile: too few rows": partial(tile, out=np.zeros((N - 1, N))),
    "tile: too few columns": partial(tile, out=np.zeros((N, N - 1))),
    "tile: row of out too far": partial(tile, out_rows=FAR),
    "tile: negative row of out": partial(tile, out_rows=BACK),
    "tile: too few rows of out": partial(tile, out_rows=INDEX[1:]),
    "tile: left index too far": partial(tile, left_index=FAR),
    "tile: right index too far": partial(tile, right_index=FAR),
    "tile: int32 rows of out": partial(tile, out_rows=INDEX.astype(np.int32)),
    "tile: no threads": partial(tile, threads=0),
    # variables
    "variables: negative rows": partial(variables, rows=-1),
    "variables: more rows than there are": partial(variables, rows=N + 1),
    "variables: shapes differ": partial(variables, target=np.zeros((1, N + 1))),
    "variables: layers differ": partial(variables, upper=np.ones((2, N))),
    "variables: group of another shape": partial(variables, group=np.zeros((2, N), np.uint8)),
    "variables: signed groups": partial(variables, group=np.zeros((1, N), np.int8)),
    "variables: more groups than stated": partial(variables, group=TWO_GROUPS),
    "variables: a group far away": partial(variables, group=np.full((1, N), 255, np.uint8)),
    "variables: no groups": partial(variables, groups=0),
    "variables: float32 target": partial(variables, target=np.zeros((1, N), np.float32)),
    "variables: strided upper": partial(variables, upper=strided(np.ones((1, N)))),
    "variables: one dimension": partial(variables, lower=np.zeros(N)),
    "variables: no layers": lambda: variables(
        **{name: np.zeros((0, N)) for name in ("target", "lower", "upper")},
        group=np.zeros((0, N), np.uint8),
    ),
    # solve
    "solve: no rows": lambda: solve(variables=variables(rows=0)),
    "solve: more rows than tile": partial(solve, tile=np.eye(N - 1)),
    "solve: more rows than score": partial(solve, score=np.zeros(N - 1)),
    "solve: more rows than beta": partial(solve, beta=np.zeros((1, N - 1))),
    "solve: more layers than variables": partial(solve, beta=np.zeros((2, N))),
    "solve: no variables": partial(solve, variables=None),
    "solve: rounded copy in float64": partial(solve, rounded=np.eye(N)),
    "solve: small rounded copy": partial(solve, rounded=np.eye(N - 1, dtype=np.float32)),
    "solve: narrow rounded copy": partial(solve, rounded=np.ones((N, N - 1), np.float32)),
    "solve: column-major rounded copy": partial(
        solve, rounded=np.asfortranarray(np.ones((N, N), np.float32))
    ),
    "solve: rounded copy of float32": partial(
        solve, tile=np.eye(N, dtype=np.float32), rounded=np.eye(N, dtype=np.float32)
    ),
    "solve: integer tile": partial(solve, tile=np.eye(N, dtype=np.int64)),
    "solve: column-major tile": partial(solve, tile=np.asfortranarray(np.ones((N, N)))),
    "solve: one-dimensional tile": partial(solve, tile=np.ones(N * N)),
    "solve: float32 beta": partial(solve, beta=np.zeros((1, N), np.float32)),
    "solve: strided beta": partial(solve, beta=strided(np.zeros((1, N)))),
    "solve: frozen beta": partial(solve, beta=frozen(np.zeros((1, N)))),
    "solve: frozen score": partial(solve, score=frozen(np.zeros(N))),
    "solve: no block": partial(solve, block=0),
    "solve: negative block": partial(solve, block=-5),
    "solve: no threads": partial(solve, threads=0),
    "solve: integer scratch": partial(solve, scratch=np.zeros(64, np.int64)),
    "newton: more rows than tile": partial(newton_steps, tile=np.eye(N - 1)),
    "newton: integer tile": partial(newton_steps, tile=np.eye(N, dtype=np.int64)),
    "newton: short score": partial(newton_steps, score=np.zeros(N - 1)),
    "newton: frozen beta": partial(newton_steps, beta=frozen(np.zeros((1, N)))),
    "newton: no threads": partial(newton_steps, threads=0),
    "small: index too far": partial(solve_small, index=FAR),
    "small: short index": partial(solve_small, index=INDEX[1:]),
    "small: two limits": partial(solve_small, max_steps=np.array([1, 1])),
    "small: end too far": partial(solve_small, end=np.array([N + 1])),
    "small: short beta": partial(solve_small, beta=np.zeros((1, N - 1))),
    "small: no threads": partial(solve_small, threads=0),
    # hold_out
    "hold out: index too far": partial(hold_out, index=FAR),
    "hold out: negative index": partial(hold_out, index=BACK),
    "hold out: short index": partial(hold_out, index=INDEX[1:]),
    "hold out: int32 index": partial(hold_out, index=INDEX.astype(np.int32)),
    "hold out: end too far": partial(hold_out, end=np.array([N + 1])),
    "hold out: a problem without rows": partial(hold_out, end=np.array([3, 3, N])),
    "hold out: ends going back": partial(hold_out, end=np.array([4, 2, N])),
    "hold out: no problems": partial(hold_out, end=np.array([], dtype=np.int64)),
    "hold out: short beta": partial(hold_out, beta=np.zeros((1, N - 1))),
    "hold out: two lines of beta": partial(hold_out, beta=np.zeros((2, N))),
    "hold out: float32 beta": partial(hold_out, beta=np.zeros((1, N), np.float32)),
    "hold out: roles of too few rows": partial(hold_out, role=np.ones((1, N - 1), np.uint8)),
    "hold out: roles of too many rows": partial(hold_out, role=np.ones((1, N + 1), np.uint8)),
    "hold out: signed roles": partial(hold_out, role=np.ones((1, N), np.int8)),
    "hold out: strided roles": partial(hold_out, role=strided(np.ones((1, N), np.uint8))),
    "hold out: two groups": partial(hold_out, variables=variables(group=TWO_GROUPS, groups=2)),
    "hold out: two layers": lambda: hold_out(
        variables=variables(
            **{name: np.zeros((2, N)) for name in ("target", "lower", "upper")},
            group=np.zeros((2, N), np.uint8),
        ),
        beta=np.zeros((2, N)),
    ),
    "hold out: no threads": partial(hold_out, threads=0),
    "examine: end too far": partial(examine, end=np.array([N + 1])),
    "examine: a part without rows": partial(examine, end=np.array([N, N])),
    "examine: two totals": partial(examine, total=np.zeros((1, 2))),
    "examine: totals of two points": partial(examine, total=np.zeros((2, 1))),
    "examine: short score": partial(examine, score=np.zeros(N - 1)),
    "extremes: short score": partial(extremes, score=np.zeros(N - 1)),
    "extremes: two lines of beta": partial(extremes, beta=np.zeros((2, N))),
    "slack: short score": partial(slack, score=np.zeros(N - 1)),
    "slack: two biases": partial(slack, least=np.zeros(2)),
    "zeros: fewer than none": lambda: _core.zeros(-1, 1),
    "zeros: no threads": lambda: _core.zeros(3, 0),
    "slack: no bias": partial(slack, most=np.zeros(0)),
    # packed rows and Shapley values
    "scan_packed: short coef": partial(scan_packed, coef=np.ones((1, N - 1))),
    "scan_packed: short out": partial(scan_packed, out=np.zeros((1, N - 1))),
    "scan_packed: two sums of one line": partial(scan_packed, out=np.zeros((2, N))),
    "scan_packed: float32 coef": partial(scan_packed, coef=np.ones((1, N), np.float32)),
    "scan_packed: frozen out": partial(scan_packed, out=frozen(np.zeros((1, N)))),
    "scan_packed: no threads": partial(scan_packed, threads=0),
    "scan_packed: other columns": lambda: scan_packed(left=_core.Rows.dense(X()[:, 1:], None)),
    "pack: row too far": lambda: _core.pack(
        _core.Kernel(_core.KernelKind.rbf, 1.0, 0.0, 1), _core.Rows.dense(X(), None), FAR, 1
    ),
    "shapley: linear kernel": lambda: add_shapley_values(
        kernel=_core.Kernel(_core.KernelKind.linear, 1.0, 0.0, 1)
    ),
    "shapley: other columns": lambda: add_shapley_values(
        background=_core.Rows.dense(X()[:, 1:], None)
    ),
    "shapley: vector too far": partial(add_shapley_values, vector_index=FAR),
    "shapley: short coef": partial(add_shapley_values, coef=np.ones((2, N - 1))),
    "shapley: short out": partial(add_shapley_values, out=np.zeros((N, D, 1))),
    "shapley: short weight": partial(add_shapley_values, weight=np.zeros(0)),
    "shapley: float32 out": partial(add_shapley_values, out=np.zeros((N, D, 2), np.float32)),
    "shapley: frozen out": partial(add_shapley_values, out=frozen(np.zeros((N, D, 2)))),
    "shapley: no threads": partial(add_shapley_values, threads=0),
    # piecewise polynomials
    "mark_cells: row too far": partial(mark_cells, index=FAR),
    "mark_cells: short low": partial(mark_cells, low=np.zeros(D - 1)),
    "mark_cells: no width": partial(mark_cells, half=np.zeros(D)),
    "mark_cells: no cells": partial(mark_cells, count=np.array([0, 1, 1])),
    "mark_cells: more cells than numbers": partial(
        mark_cells, count=np.array([1 << 32, 1 << 32, 1]), occupied=np.zeros(0, np.uint8)
    ),
    "mark_cells: short marks": partial(mark_cells, occupied=np.zeros(1, np.uint8)),
    "mark_cells: frozen marks": partial(mark_cells, occupied=frozen(np.zeros(2, np.uint8))),
    "mark_cells: no threads": partial(mark_cells, threads=0),
    "interpolate: row too far": partial(interpolate, index=FAR),
    "interpolate: place too far": partial(interpolate, place=np.array([0, 2])),
    "interpolate: negative place": partial(interpolate, place=np.array([0, -1])),
    "interpolate: short place": partial(interpolate, place=np.array([0])),
    "interpolate: short coef": partial(interpolate, coef=np.zeros((1, 2, 16))),
    "interpolate: float32 coef": partial(interpolate, coef=np.zeros((1, 2, 16**D), np.float32)),
    "interpolate: short out": partial(interpolate, out=np.zeros((1, N - 1))),
    "interpolate: frozen out": partial(interpolate, out=frozen(np.zeros((1, N)))),
    "interpolate: four features": lambda: interpolate(
        rows=_core.Rows.dense(np.zeros((N, 4)), None),
        low=np.zeros(4),
        half=np.ones(4),
        count=np.ones(4, np.int64),
        place=np.zeros(1, np.int64),
    ),
    "interpolate: no threads": partial(interpolate, threads=0),
    # shards
    "shard: short beta": partial(shard, beta=np.zeros((1, N - 1))),
    "shard: short score": partial(shard, score=np.zeros(N - 1)),
    "shard: short version": partial(shard, version=np.zeros(N - 1, np.int32)),
    "shard: int64 version": partial(shard, version=np.zeros(N, np.int64)),
    "shard: float64 norm": partial(shard, norm=np.ones(N)),
    "shard: short norm": partial(shard, norm=np.ones(N - 1, np.float32)),
    "shard: frozen beta": partial(shard, beta=frozen(np.zeros((1, N)))),
    "triage: two biases": partial(triage, bias=np.zeros(2)),
    "triage: float32 drift": partial(triage, drift=np.zeros(1, np.float32)),
    "triage: negative offset": partial(triage, offset=-3),
    "triage: negative stride": partial(triage, stride=-1),
    "triage: negative begin": partial(triage, begin=-N),
    "triage: no threads": partial(triage, threads=0),
    "judge: row too far": partial(judge, rows=FAR),
    "judge: row very far": partial(judge, rows=np.array([10**12])),
    "judge: negative row": partial(judge, rows=BACK),
    "judge: two biases": partial(judge, bias=np.zeros(2)),
    "judge: no threads": partial(judge, threads=0),
    "judge: int32 rows": partial(judge, rows=INDEX.astype(np.int32)),
    # slots
    "relocate: slot too far": partial(relocate, to_slots=np.array([N])),
    "relocate: negative slot": partial(relocate, from_slots=np.array([-1])),
    "relocate: unequal lengths": partial(relocate, to_slots=np.array([0, 1])),
    "relocate: larger than the tile": partial(relocate, size=N + 1),
    "relocate: integer tile": partial(relocate, tile=np.eye(N, dtype=np.int64)),
    "relocate: column-major tile": partial(relocate, tile=np.asfortranarray(np.ones((N, N)))),
    "relocate: frozen tile": partial(relocate, tile=frozen(np.eye(N))),
    "relocate: one-dimensional tile": partial(relocate, tile=np.ones(N * N)),
    "mirror: slot too far": partial(mirror, slots=FAR),
    "mirror: larger than the tile": partial(mirror, size=N + 1),
    "mirror: integer tile": partial(mirror, tile=np.eye(N, dtype=np.int64)),
    "mirror: one-dimensional tile": partial(mirror, tile=np.ones(N * N)),
    "mirror: int32 slots": partial(mirror, slots=INDEX.astype(np.int32)),
    # the rest
    "first_equal: short label": partial(first_equal, label=np.zeros(N - 1)),
    "first_equal: integer label": partial(first_equal, label=np.zeros(N, np.int64)),
    "first_equal: strided label": partial(first_equal, label=strided(np.zeros(N))),
    "times: short x": partial(times, x=np.ones((2, D - 1))),
    "times: short out": partial(times, out=np.zeros((2, N - 1))),
    "times: shapes of the transposed": partial(times, transposed=True),
    "times: float32 matrix": partial(times, A=X().astype(np.float32)),
    "times: column-major matrix": partial(times, A=np.asfortranarray(X())),
    "times: strided x": partial(times, x=np.ones((4, D))[::2]),
    "times: frozen out": partial(times, out=frozen(np.zeros((2, N)))),
    "times: fewer results than vectors": partial(times, out=np.zeros((1, N))),
    "times: no threads": partial(times, threads=0),
    "first_equal: an array for rows": lambda: first_equal(rows=X()),
    "exp2: unequal lengths": lambda: _core.exp2(np.zeros(3), np.zeros(2), True),
    "exp2: float32": lambda: _core.exp2(np.zeros(3, np.float32), np.zeros(3), True),
    "unknown instruction set": lambda: _core.force_instruction_set("mmx"),
}

# The same calls with nothing replaced: these have to work.
SOUND: dict[str, Callable[[], Any]] = {
    "sound csr": csr,
    "sound csr scan": partial(wide, [0, 1, 2, 0, 1, 2]),
    "sound scan": scan,
    "sound tile": tile,
    "sound packed scan": scan_packed,
    "sound shapley": add_shapley_values,
    "sound variables": partial(variables, rows=N - 1),
    "sound solve": solve,
    "sound newton": newton_steps,
    "sound small": solve_small,
    "sound hold out": hold_out,
    "sound hold out: unknown roles": partial(hold_out, role=np.full((3, N), 255, np.uint8)),
    "sound hold out: beta outside its box": partial(hold_out, beta=np.full((1, N), 9.0)),
    "sound hold out: lower above upper": lambda: hold_out(
        variables=variables(lower=np.ones((1, N)), upper=-np.ones((1, N)))
    ),
    "sound examine": examine,
    "sound extremes": extremes,
    "sound slack": slack,
    "sound mark_cells": mark_cells,
    "sound interpolate": interpolate,
    "sound interpolate of what is no number": lambda: interpolate(
        rows=_core.Rows.dense(np.full((N, D), np.nan), None)
    ),
    "sound triage": triage,
    "sound judge": judge,
    "sound relocate": relocate,
    "sound mirror": mirror,
    "sound first_equal": first_equal,
    "sound times": times,
    "sound transposed times": partial(
        times, x=np.ones((2, N)), out=np.zeros((2, D)), transposed=True
    ),
}


def outcome(call: Callable[[], Any]) -> str:
    """What happens when the call is made in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(WAIT)
        try:
            call()
            said = "accepted"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"killed by signal {os.WTERMSIG(status)}"
    return said or f"exited with status {os.WEXITSTATUS(status)}"


if __name__ == "__main__":
    json.dump({name: outcome(call) for name, call in (CASES | SOUND).items()}, sys.stdout)
