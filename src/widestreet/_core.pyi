import enum
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from widestreet._src.arrays import Bools, Bytes, Floats, Ints, Real

class KernelKind(enum.Enum):
    linear = 0
    rbf = 1
    poly = 2
    sigmoid = 3
    laplacian = 4
    far_rbf = 5

class Kernel:
    def __init__(self, kind: KernelKind, gamma: float, coef0: float, degree: int) -> None: ...

class Rows:
    @staticmethod
    def dense(values: Real, centre: Floats | None, skip_zeros: bool = False) -> Rows: ...
    @staticmethod
    def csr(
        values: Real,
        indices: NDArray[np.signedinteger],
        indptr: NDArray[np.signedinteger],
        n: int,
        d: int,
    ) -> Rows: ...
    def with_levels(
        self, step: float, origin: float, binary: bool, precise: bool, levels: Bytes | None
    ) -> Rows: ...

class Variables:
    """The variables of a dual, arrays of shape (layers, length) of which `rows` columns count."""

    def __init__(
        self,
        target: Floats,
        lower: Floats,
        upper: Floats,
        group: Bytes,
        groups: int,
        rows: int | None = None,
    ) -> None: ...

class Shard:
    def __init__(
        self,
        variables: Variables,
        beta: Floats,
        score: Floats,
        version: NDArray[np.int32],
        norm: NDArray[np.float32] | None,
    ) -> None: ...
    def triage(
        self,
        offset: int,
        stride: int,
        begin: int,
        end: int,
        bias: Floats,
        drift: Floats,
        threads: int,
    ) -> tuple[Ints, int, float]: ...
    def judge(
        self, rows: Ints, bias: Floats, tol: float, threads: int
    ) -> tuple[Ints, Floats, Floats, Floats, float]: ...
    def by_version(self, rows: Ints, present: int, threads: int) -> tuple[Ints, Ints]: ...
    def read(self, rows: Ints, threads: int) -> Floats: ...
    def store(self, rows: Ints, score: Floats, version: int, threads: int) -> None: ...

class Factor:
    """Cholesky factor L of a matrix that gains and loses rows; matrices are transposed here."""

    def __init__(self) -> None: ...
    def copy(self) -> Factor: ...
    @property
    def size(self) -> int: ...
    def solve_bordered(
        self, first: Floats, second: Floats, group: Bytes, sigma: float, x: Floats, m: Floats
    ) -> None: ...
    def append(self, row: Floats, own: float, least: float) -> float: ...
    def remove(self, i: int) -> None: ...
    def load(self, L: Floats) -> None: ...
    def store(self, L: Floats) -> None: ...

class HomotopyStep:
    def __init__(
        self,
        layers: int,
        target: Floats,
        lower: Floats,
        upper: Floats,
        beta: Floats,
        group: Bytes,
        bound_state: NDArray[np.int8],
        score: Floats,
        bias: Floats,
        d_target: Floats,
        d_lower: Floats,
        d_upper: Floats,
        d_beta: Floats,
        d_score: Floats,
        d_bias: Floats,
        rows: Ints | None = None,
    ) -> None: ...
    def nearest(
        self, negligible: float, zero_length: float, by_index: bool, passed_over: Ints
    ) -> tuple[float, int, int, float, float]: ...
    def advance(self, length: float) -> None: ...

def use_lapack(dposv: object, dtrsv: object) -> None: ...
def scan(
    kernel: Kernel,
    left: Rows,
    left_index: Ints | None,
    right: Rows,
    right_index: Ints | None,
    coef: Floats,
    out: Floats,
    in_double: bool,
    threads: int,
) -> None: ...
def scan_each(
    kernel: Kernel,
    left: Rows,
    left_index: Ints,
    left_end: Ints,
    right: Rows,
    right_index: Ints,
    right_end: Ints,
    coef: Floats,
    out: Floats,
    in_double: bool,
    threads: int,
) -> None: ...
def bounded_scan(
    left: NDArray[np.float32],
    left_start: NDArray[np.float32],
    right: NDArray[np.float32],
    right_start: NDArray[np.float32],
    coef: Floats,
    weight: NDArray[np.float32],
    sums: Floats,
    sizes: Floats,
    threads: int,
) -> None: ...
def round_rows(
    rows: Rows,
    index: Ints,
    scale: float,
    grid: float,
    features: NDArray[np.float32],
    start: NDArray[np.float32],
    factor: Floats,
    error: Floats,
    threads: int,
) -> None: ...
def bound_ranges(
    features: NDArray[np.float32],
    begin: Ints,
    last: Ints,
    end: Ints,
    longest: Floats,
    trace: Floats,
    moments: NDArray[np.float32] | None,
    size: Floats,
    threads: int,
) -> Floats: ...
def symmetric_scan(
    gamma: float,
    rows: Rows,
    index: Ints,
    begin: int,
    end: int,
    coef: Floats,
    out: Floats,
    threads: int,
) -> None: ...

class PackedRows:
    """Right rows packed for `scan_packed`."""

def pack(kernel: Kernel, right: Rows, right_index: Ints | None, threads: int) -> PackedRows: ...
def scan_packed(right: PackedRows, left: Rows, coef: Floats, out: Floats, threads: int) -> None: ...
def add_shapley_values(
    kernel: Kernel,
    rows: Rows,
    background: Rows,
    vectors: Rows,
    vector_index: Ints,
    node: Floats,
    weight: Floats,
    coef: Floats,
    out: Floats,
    threads: int,
) -> None: ...
def scan_parts(
    kernel: Kernel,
    rows: Rows,
    index: Ints,
    end: Ints,
    coef: Floats,
    out: Floats,
    threads: int,
) -> int: ...
def times(A: Floats, x: Floats, out: Floats, transposed: bool, threads: int) -> None: ...
def tile(
    kernel: Kernel,
    left: Rows,
    left_index: Ints | None,
    right: Rows,
    right_index: Ints | None,
    out: Real,
    out_rows: Ints | None,
    threads: int,
) -> None: ...
def solve(
    tile: Real,
    variables: Variables,
    beta: Floats,
    score: Floats,
    tol: float,
    max_steps: int,
    block: int,
    threads: int,
    direct_steps: int = 0,
    scratch: Bytes | None = None,
    poll: Callable[[], object] | None = None,
    rounded: Real | None = None,
) -> tuple[float, int]: ...
def newton_steps(
    tile: Real,
    variables: Variables,
    beta: Floats,
    score: Floats,
    threads: int,
    scratch: Bytes | None = None,
    poll: Callable[[], object] | None = None,
) -> bool: ...
def add_scores(
    tile: Real, size: int, slots: Ints, change: Floats, score: Floats, threads: int
) -> None: ...
def gather(out: Real, tile: Real, size: int, slots: Ints, threads: int) -> None: ...
def solve_chain(
    tile: Floats,
    variables: Variables,
    total: Floats,
    scale: Floats,
    tol: Floats,
    beta: Floats,
    score: Floats,
    figures: Floats,
    bias: Floats,
    poll: Callable[[], None] | None = None,
) -> int: ...
def solve_small(
    kernel: Kernel,
    rows: Rows,
    index: Ints,
    variables: Variables,
    beta: Floats,
    score: Floats,
    end: Ints,
    max_steps: Ints,
    tol: float,
    threads: int,
) -> tuple[Floats, Floats]: ...
def hold_out(
    kernel: Kernel,
    rows: Rows,
    index: Ints,
    variables: Variables,
    beta: Floats,
    end: Ints,
    role: Bytes,
    tol: float,
    near: float,
    in_double: bool,
    most_near: int,
    threads: int,
    poll: Callable[[], None] | None = None,
) -> tuple[Floats, Floats]: ...
def find_eta(log: Floats, margin: Floats, edge: float, start: float) -> float: ...
def tilt(log: Floats, margin: Floats, eta: float, new_log: Floats, weight: Floats) -> float: ...
def examine(
    variables: Variables, beta: Floats, score: Floats, end: Ints, total: Floats
) -> tuple[Floats, Floats]: ...
def rows_that_matter(
    variables: Variables,
    index: Ints | None,
    score: Floats,
    error: Floats,
    more: float,
    grow: Floats,
    shrink: Floats,
    threads: int,
) -> Ints: ...
def places(mask: Bools, threads: int) -> Ints: ...
def extremes(variables: Variables, beta: Floats, score: Floats) -> tuple[Floats, Floats]: ...
def slack(
    variables: Variables, beta: Floats, score: Floats, least: Floats, most: Floats
) -> Floats: ...
def zeros(count: int, threads: int) -> Floats: ...
def extreme_targets(variables: Variables, threads: int) -> tuple[float, float]: ...
def changes(
    ids: Ints, coef: Floats, ids_before: Ints, coef_before: Floats, threads: int
) -> tuple[Ints, Floats]: ...
def exact_terms(values: Floats, threads: int) -> list[float] | None: ...
def relocate(tile: Real, size: int, from_slots: Ints, to_slots: Ints, threads: int) -> None: ...
def copy_rows(to: Real, source: Real, begin: int, end: int, size: int, threads: int) -> None: ...
def mirror(tile: Real, size: int, slots: Ints, threads: int) -> None: ...
def find_levels(
    rows: Rows, step: float, origin: float, levels: Bytes | None, squares: Floats, threads: int
) -> tuple[bool, bool, bool, float]: ...
def first_equal(rows: Rows, label: Floats | NDArray[np.int8], threads: int) -> tuple[Ints, int]: ...
def similar_together(rows: Rows, threads: int) -> Ints: ...
def largest_square(rows: Rows, threads: int) -> float: ...
def sparse_combination(rows: Rows, index: Ints | None, coef: Floats) -> Floats: ...
def squares(rows: Rows, index: Ints | None, threads: int) -> Floats: ...
def column_figures(rows: Rows, threads: int) -> Floats: ...
def mark_cells(
    rows: Rows,
    index: Ints | None,
    low: Floats,
    half: Floats,
    count: Ints,
    occupied: Bytes,
    threads: int,
) -> None: ...
def interpolate(
    rows: Rows,
    index: Ints | None,
    low: Floats,
    half: Floats,
    count: Ints,
    place: Ints,
    coef: Floats,
    out: Floats,
    threads: int,
) -> None: ...
def exp2(z: Floats, out: Floats, in_double: bool) -> None: ...

IN_WORKING_SET: int
UNKNOWN: int

def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...
def force_instruction_set(name: str) -> None: ...
