"""Single programs of problems side by side: kinds of rows, tiles, and that a GPU accepts them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import TOL
from support.devices import device_of
from unit.device.test_batch import TO, Problems


@pytest.fixture
def programs():
    device_of("triton")
    from widestreet._src.device import triton_batch

    return triton_batch


def test_kinds_of_rows(programs):
    problems = Problems()
    problems.batch.look()
    kind = problems.batch._kind.cpu().numpy()
    target = problems.batch.lines[2, : len(kind)].cpu().numpy()
    extreme, above, below = (
        getattr(programs, name).value for name in ("_EXTREME", "_ABOVE", "_BELOW")
    )
    np.testing.assert_array_equal(kind, extreme + np.where(target > 0, above, below))
    now = problems.batch.pairs(64, TO)
    kind = problems.batch._kind.cpu().numpy()
    first = problems.pairs.sizes[0]
    free = kind[:first] % extreme == programs._FREE.value
    assert free.sum() == now.free[0] > 0


def test_tiles_are_kernel_values(programs):
    problems = Problems(rows=180)
    batch = problems.batch
    batch.look()
    batch._draw(128, TO.goal)
    blocks = batch._blocks
    blocks.tile.fill_(np.nan)
    programs.tiles[(4, 4, 3)](
        batch.held.full, batch.held.norm, batch.rows, blocks.slots, blocks.sizes, blocks.tile,
        batch._start, W=128, B=32, **batch._shape,
    )  # fmt: skip
    tile = blocks.tile.cpu().numpy().reshape(3, 128, 128)
    slots = blocks.slots.cpu().numpy().reshape(3, 128)
    ends = np.cumsum(problems.pairs.sizes)
    for p in range(3):
        some = slots[p][slots[p] >= 0] - (ends[p] - problems.pairs.sizes[p])
        q = len(some)
        K = problems.pairs.kernel(p)[np.ix_(some, some)]
        np.testing.assert_allclose(tile[p, :q, :q], K, rtol=TOL.kernel_float32)
        assert not tile[p, :q, q:].any()


COMPILE = """
import sys
from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from widestreet._src.device import triton_batch

NUMBERS = {"seed", "most", "limit", "short"}  # whole ones
TYPES = dict.fromkeys(("X_HIGH", "X_LOW"), "*fp16")
TYPES |= dict.fromkeys(("X_NORM", "F", "K", "OUT", "DELTA"), "*fp32") | {"KIND": "*i8"}
whole = ("BEGIN", "ROWS", "BLOCK", "SIZES", "COUNTS", "FIRST", "VECTORS")
TYPES |= dict.fromkeys(whole, "*i32")
SHAPE = {"D": 96, "CHUNK": 32, "MAP": 0, "DEGREE": 1}
CONSTANTS = {
    "look": {"B": 1024},
    "mark": {"B": 1024, "MOST": 4},
    "draw": {"B": 1024, "W": 512},
    "pick": {"B": 1024, "W": 512, "MOST": 4},
    "tiles": {"B": 32, "W": 512, **SHAPE},
    "pair_steps": {"W": 512},
    "add_scan": {"BM": 64, "BN": 128, **SHAPE},
    "scan": {"BM": 64, "BN": 32, **SHAPE},
}
for name, constants in CONSTANTS.items():
    program = getattr(triton_batch, name)
    types = {
        argument: "constexpr" if constant
        else TYPES.get(argument, "*fp64") if argument[0].isupper()
        else "i32" if argument in NUMBERS else "fp32"
        for argument, constant in zip(program._names, program._constant, strict=True)
    }
    source = ASTSource(program._function, types, constants)
    compile(source, target=GPUTarget("cuda", 90, 32))
print(*CONSTANTS)
"""


def test_a_gpu_accepts_every_program(programs, tmp_path: Path):
    """The compiler refuses some of what the interpreter accepts. It needs no GPU."""
    source = tmp_path / "compile_all.py"
    source.write_text(COMPILE, encoding="utf-8")
    keep = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    keep["TRITON_CACHE_DIR"] = str(tmp_path / "cache")
    found = subprocess.run(
        [sys.executable, str(source)], env=keep, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    every = {name for name, one in vars(programs).items() if isinstance(one, programs.Program)}
    assert set(found.stdout.split()) == every
