"""A Newton step on rows of a working set in the memory of a GPU.

Every pass is a few launches, and reads two numbers back. Passes need not end: the best point of the
arc clip(c + t d) of the last step d is taken.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import torch

from widestreet._src.device import triton_newton as programs

_BLOCK, _TILE = 1024, 32  # rows of a program, and of a block of the system
_LEAST_WIDTH = 64  # of programs that hold all rows
_POINTS, _RATIO = 16, 0.7  # of the arc


def newton_step(
    K: Any, slots: Any, lines: Any, ends: Any, ridge: float, passes: int
) -> tuple[Any, int]:
    """Take a Newton step; return the changes of coefficients and the number of passes.

    Parameters
    ----------
    K : tensor of float64, shape (n, n)
        Kernel values between the rows.
    slots : tensor of int32, shape (n,)
        The rows.
    lines : tuple of tensors of float64
        Coefficients, scores, targets, tubes and bounds of the working set.
    ends : tensor of float64, shape (2,)
        Largest F where a coefficient may grow, and smallest F where it may shrink.
    ridge : float
        Part of the violation that the diagonal term adds for a step across the whole box.
    passes : int
        Largest number of factorisations.

    Sets: coefficients.
    """
    n, where = len(slots), K.device
    face = torch.empty((5, n + n % 2), dtype=torch.float64, device=where)
    programs.face[(ceil(n / _BLOCK),)](slots, *lines, ends, *face, n, ridge, _BLOCK)
    c, low, high, f, r = face
    width = max(_LEAST_WIDTH, 1 << (n - 1).bit_length())
    shape: dict[str, Any] = {"B": width, "num_warps": 4 if width <= 512 else 16}
    step, one, fixed, mu = (torch.zeros(k, dtype=f.dtype, device=where) for k in (n, n, n, 1))
    free = torch.arange(n, dtype=torch.int32, device=where)
    place, counts = free.clone(), torch.empty(2, dtype=torch.int32, device=where)
    taken, changed, count = 0, n, n
    while taken < passes and changed and count:
        taken += 1
        right = torch.addmv(f[:n], K, fixed, alpha=-1.0)
        found = _solved(K, r, right, free, count)
        programs.spread[(1,)](found, place, fixed, step, one, mu, n, count, **shape)
        programs.settle[(1,)](
            step, torch.mv(K, step), mu, c, low, high, f, r, place, free, fixed, counts, n, **shape
        )
        changed, count = counts.tolist()
    points = torch.empty((_POINTS, n), dtype=f.dtype, device=where)
    programs.arc[(_POINTS,)](c, low, high, step, one, points, n, _RATIO, **shape)
    change = torch.empty_like(step)
    programs.choose[(1,)](
        points, points @ K, f, c, low, high, slots, lines[0], change, n, COUNT=_POINTS, **shape
    )
    return change, taken


def _solved(K: Any, r: Any, right: Any, free: Any, count: int) -> Any:
    """Return two solutions of the system of the free variables: for `right`, and for ones."""
    H = torch.empty((count, count), dtype=K.dtype, device=K.device)
    sides = torch.empty((2, count), dtype=K.dtype, device=K.device)
    grid = (ceil(count / _TILE), ceil(count / _TILE))
    programs.system[grid](K, r, right, free, H, sides, len(right), count, _TILE)
    return torch.cholesky_solve(sides.T, torch.linalg.cholesky_ex(H)[0]).T.contiguous()
