"""Devices for tests: one in NumPy that runs everywhere, and Triton's programs.

The programs run on a GPU if there is one, otherwise by Triton's interpreter. They are skipped where
PyTorch or Triton are not installed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from widestreet._src.device.batch_contract import Extent, Standings
from widestreet._src.device.contract import (
    Block,
    Census,
    Choice,
    Device,
    Look,
    Map,
    Moved,
    Variables,
)
from widestreet._src.device.lent import LentArray
from widestreet._src.estimators import placing

DEVICES = ("numpy", "triton")


@dataclass
class PlainRows:
    rows: int
    values: np.ndarray


class PlainArray(LentArray):
    """An array of NumPy in the place of one on a device, which counts the rows that are read."""

    def __init__(self, device: PlainDevice, values: np.ndarray) -> None:
        kept = values.dtype in (np.float32, np.float64)
        self.values = values if kept else values.astype(np.float64)
        self.device, self.shape, self.dtype = device, self.values.shape, self.values.dtype

    def __getitem__(self, index):
        found = self.values[index].copy()
        self.device.read.append(len(found))
        return found

    def part(self, index):
        return PlainArray(self.device, self.values[index])

    def finite(self):
        return bool(np.isfinite(self.values).all())

    def largest(self):
        return float(np.abs(self.values).max())

    def moments(self, weight, origin):
        x = self.values.astype(np.float64) - origin
        weight = np.ones(len(x)) if weight is None else weight
        return weight @ x, weight @ x**2

    def squares(self, origin, index):
        x = (self.values if index is None else self.values[index]).astype(np.float64)
        x = x if origin is None else x - origin
        return np.einsum("ij,ij->i", x, x)

    def repeated(self):
        _, place, count = np.unique(
            self.values + 0.0, axis=0, return_inverse=True, return_counts=True
        )
        return np.flatnonzero(count[place.reshape(-1)] > 1)


class Library:
    """The namespace of `ForeignArray`."""

    @staticmethod
    def asarray(values, *, device):
        return ForeignArray(np.array(values), device)


class ForeignArray:
    """An array of another library that is on a GPU as DLPack says: NumPy cannot convert it.

    Its memory is that of the host, so that a device of the tests can share it.
    """

    def __init__(self, values: np.ndarray, device: str = "gpu") -> None:
        self.values, self.device = np.ascontiguousarray(values), device
        self.shape, self.dtype = self.values.shape, self.values.dtype

    def __dlpack_device__(self):
        return 13, 0

    def __dlpack__(self, **options):
        return self.values.__dlpack__()

    def __array_namespace__(self):
        return Library

    def __array__(self, *options, **more):
        raise TypeError("can't convert an array on a device to NumPy")

    def get(self):
        return self.values.copy()


@dataclass
class PlainDevice:
    """NumPy in the place of a device. `size` is its memory; `off` is added to all scores."""

    size: int = 1 << 30
    off: float = 0.0
    name: str = "NumPy"
    scans: list[tuple[int, int, bool]] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    works: list[PlainWork] = field(default_factory=list)
    batches: list[PlainBatch] = field(default_factory=list)
    read: list[int] = field(default_factory=list)  # rows of the user, on the host
    released: int = 0
    kept: int = 0  # bytes that may stay, by the last call
    carried: int = 0

    def room(self) -> int:
        return self.size

    def bytes_per_row(self, features: int) -> int:
        return 8 * features

    def release(self, kept: int = 0) -> None:
        self.released += 1
        self.kept = kept

    def lend(self, array: Any) -> PlainArray:
        return PlainArray(self, array.values)

    def hold(self, values: Any, centre: np.ndarray | None, by: Map) -> PlainRows:
        values = values.values if isinstance(values, PlainArray) else values
        dense = values.toarray() if sparse.issparse(values) else values
        if dense.size * 8 > self.size:
            raise MemoryError("the rows do not fit")
        self.held.append(len(dense))
        dense = dense.astype(np.float64)
        return PlainRows(len(dense), (dense if centre is None else dense - centre) * by.factor)

    def scan(self, by, left, I, right, J, coef, double):
        X = left.values if I is None else left.values[I]
        S = right.values if J is None else right.values[J]
        self.scans.append((len(X), len(S), double))
        K = values(by, X, S)
        if not double:
            K = K.astype(np.float32).astype(np.float64)
        return coef @ K.T + self.off

    def work(self, by, held, rows, variables, near, double):
        X = held.values[rows]
        self.works.append(PlainWork(values(by, X, X), variables, near, np.arange(len(rows))))
        return self.works[-1]

    def batch(self, by, held, rows, sizes, variables, near, width):
        ends = np.cumsum(sizes)
        works = []
        for begin, end in zip(ends - sizes, ends, strict=True):
            X, mine = held.values[rows[begin:end]], slice(begin, end)
            own = {one.name: getattr(variables, one.name)[mine] for one in fields(Variables)}
            works.append(PlainWork(values(by, X, X), Variables(**own), near, np.arange(len(X))))
        self.batches.append(PlainBatch(works))
        return self.batches[-1]

    def growing(self, work: PlainWork) -> PlainWork:
        return work


@dataclass
class PlainWork:
    """A working set in NumPy. Blocks are the rows that violate most; Newton steps are exact."""

    K: np.ndarray
    variables: Variables
    near: float
    slots: np.ndarray
    block: np.ndarray | None = None
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.coef, self.score = self.variables.coef.copy(), self.variables.score.copy()
        self.members = self.slots

    @property
    def active(self) -> int:
        return len(self.slots)

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        v, c = self.variables, self.coef
        f = v.target - self.score
        up = np.where(c < 0, f + v.tube, np.where(c < v.upper, f, -np.inf))
        return up, np.where(c > 0, f, np.where(c > v.lower, f + v.tube, np.inf))

    def look(self, steps: int = 0) -> Look:
        up, down = (side[self.slots] for side in self.sides())
        top, bottom = up.max(initial=-1e30), down.min(initial=1e30)
        free = np.isfinite(up) & np.isfinite(down) & (self.coef[self.slots] != 0)
        middle = 0.5 * (top + bottom)
        violates = ((up - middle > self.near) | (middle - down > self.near)) & ~free
        return Look(top, bottom, int(free.sum()), int(violates.sum()), steps)

    def pairs(self, size, chances, tol, part, most, blocks=1) -> Look:
        self.calls.append("pairs")
        goal, taken = max(tol, part * self.look().violation), 0
        for _ in range(blocks * most):
            up, down = self.sides()
            i, j = self.slots[up[self.slots].argmax()], self.slots[down[self.slots].argmin()]
            if up[i] - down[j] <= goal:
                break
            c, v = self.coef, self.variables
            room = (
                -c[i] if c[i] < 0 else v.upper[i] - c[i],
                c[j] if c[j] > 0 else c[j] - v.lower[j],
            )
            bend = max(1e-12, self.K[i, i] + self.K[j, j] - 2 * self.K[i, j])
            self.step({i: 1.0, j: -1.0}, min((up[i] - down[j]) / bend, *room))
            taken += 1
        return self.look(taken)

    def step(self, change: dict[int, float], length: float) -> None:
        for row, sign in change.items():
            self.coef[row] += sign * length
            if abs(self.coef[row]) < 1e-14:
                self.coef[row] = 0.0
            self.score += sign * length * self.K[row]
        v = self.variables
        for bound in (v.lower, v.upper):
            self.coef = np.where(np.abs(self.coef - bound) < 1e-14, bound, self.coef)

    def draw(self, size, free, violating) -> Block:
        self.calls.append("draw")
        up, down = (side[self.slots] for side in self.sides())
        far = np.maximum(up - down.min(), up.max() - down)
        keep = {int(up.argmax()), int(down.argmin())}
        chosen = keep | set(np.argsort(-far, kind="stable")[: max(0, size - 2)].tolist())
        self.block = self.slots[sorted(chosen)]
        names = ("target", "tube", "lower", "upper")
        rest = {name: getattr(self.variables, name)[self.block] for name in names}
        now = Variables(coef=self.coef[self.block], score=self.score[self.block], **rest)
        return Block(self.K[np.ix_(self.block, self.block)], now)

    def move(self, at, coef) -> Look:
        self.calls.append("move")
        rows = self.block[at]
        self.score += (coef - self.coef[rows]) @ self.K[rows]
        self.coef[rows] = coef
        return self.look()

    def newton(self, ridge, passes) -> Look:
        self.calls.append("newton")
        return self.look(1)

    def set_aside(self, distance) -> Look:
        self.calls.append("set_aside")
        ends, (up, down) = self.look(), self.sides()
        middle = 0.5 * (ends.highest + ends.lowest)
        stay = np.maximum(up - middle, middle - down)[self.slots] > -distance
        self.slots = self.slots[stay]
        return self.look()

    def take_back(self) -> Look:
        self.calls.append("take_back")
        self.slots = self.members
        return self.look()

    @property
    def work(self) -> PlainWork:
        return self

    def refresh(self) -> int:
        self.calls.append("refresh")
        self.score[self.slots] = self.K[self.slots] @ self.coef
        return self.K[self.slots].size

    def begin(self, slots: np.ndarray, score: np.ndarray) -> None:
        self.calls.append("begin")
        self.score[slots] = score
        self.slots = self.members = self.began = slots
        self.first = self.coef.copy(), self.score.copy()

    @property
    def inside(self) -> np.ndarray:
        return np.isin(np.arange(len(self.coef)), self.members)

    def reach(self, ends: Look) -> np.ndarray:
        up, down = self.sides()
        return np.maximum(up - ends.highest, ends.lowest - down)

    def centred(self) -> Look:
        ends = self.look()
        middle = 0.5 * (ends.highest + ends.lowest)
        return replace(ends, highest=middle, lowest=middle)

    def census(self, tol: float) -> Census:
        self.calls.append("census")
        self.slots = self.members
        (up, down), ends, v, c = self.sides(), self.centred(), self.variables, self.coef
        excess = self.reach(ends)
        violates = (excess > tol) & ~self.inside
        e = v.target - self.score - ends.highest
        return Census(
            highest=up.max(),
            lowest=down.min(),
            bias=ends.highest,
            violators=int(violates.sum()),
            excess=excess[violates].sum(),
            support=np.count_nonzero(c),
            free=int(((c != 0) & (c > v.lower) & (c < v.upper)).sum()),
            linear=v.target @ c + v.tube @ np.minimum(c, 0.0),
            norm=c @ self.score,
            loss=(np.maximum(v.upper * e, 0.0) + np.maximum(v.lower * (e + v.tube), 0.0)).sum(),
            values=0,
        )

    def choose(self, by: Choice) -> None:
        self.calls.append("choose")
        ends = self.look()
        slack = -self.reach(ends if ends.violation < 0 else self.centred())
        stay = slack < np.where(self.coef != 0, by.support_slack, by.slack)
        enter = self.reach(self.centred()) > by.tol
        draw = np.random.default_rng(len(self.calls))
        enter &= draw.random(len(enter)) < by.chance
        self.members = np.flatnonzero(np.where(self.inside, stay, enter))[: by.most]
        self.slots = self.members

    def moved(self) -> Moved:
        coef, score = self.first
        changed = np.flatnonzero(self.coef != coef)
        some = np.union1d(np.union1d(self.members, self.began), changed)
        return Moved(some, self.coef[some], self.score[some], coef[some], score[some])

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        return self.coef, self.score


@dataclass
class PlainBatch:
    """Problems in NumPy, each of which has all rows in its block."""

    works: list[PlainWork]
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.steps, self.computed = np.zeros((2, len(self.works)))

    def look(self) -> Standings:
        found = [work.look() for work in self.works]
        names = ("highest", "lowest", "free", "violators")
        ends = [np.array([float(getattr(one, name)) for one in found]) for name in names]
        return Standings(self.steps.copy(), *ends, self.computed.copy())

    def pairs(self, width: int, to: Extent) -> Standings:
        self.calls.append("pairs")
        for p, work in enumerate(self.works):
            if work.look().violation > to.goal:
                most = min(to.most, to.limit - int(self.steps[p]))
                self.steps[p] += work.pairs(width, (1.0, 1.0), to.goal, 0.0, most).steps
                self.computed[p] += work.active**2
        return self.look()

    def refresh(self) -> Standings:
        self.calls.append("refresh")
        for work in self.works:
            work.refresh()
        return self.look()

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        coef, score = zip(*(work.result() for work in self.works), strict=True)
        return np.concatenate(coef), np.concatenate(score)


def values(by: Map, X: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Kernel values by their definition."""
    if by.kind in ("rbf", "laplacian", "far_rbf"):
        difference = X[:, None] - S[None]
        power = np.abs(difference) if by.kind == "laplacian" else difference**2
        return np.exp2(-power.sum(axis=2) * (0.5 if by.kind == "rbf" else 1.0))
    z = X @ S.T + by.start
    return np.tanh(z) if by.kind == "sigmoid" else z**by.degree


@cache
def _triton() -> Device:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    gpu = torch.cuda.is_available()
    if not gpu:  # Triton interprets its programs: see conftest.py
        torch.set_num_threads(1)
    pytest.importorskip("triton", reason="Triton is not installed")
    from widestreet._src.device.cuda import CudaDevice

    return CudaDevice("cuda" if gpu else "cpu")


def device_of(name: str) -> Any:
    return PlainDevice() if name == "numpy" else _triton()


def use(patch: pytest.MonkeyPatch, device: Any) -> Any:
    """Let device="cuda" mean a device of the tests; return it."""
    patch.setattr(placing, "gpu", lambda: device)
    patch.setattr(placing, "gpu_or_none", lambda: device)
    return device
