"""State of all rows in the memory of a GPU, and the choice of a working set among them."""

from __future__ import annotations

from math import ceil
from typing import Any

import torch

from widestreet._src.device import triton_census as programs
from widestreet._src.device.contract import Census, Choice

_BLOCK = 1024  # rows of a program


def of_rows(lines: Any, inside: Any, ends: Any, tol: float, values: int) -> Census:
    """Return the state of rows.

    Parameters
    ----------
    lines : tuple of tensors
        Coefficients, scores, targets, tubes and both bounds of the rows.
    inside : tensor of bool
        Which rows are in the working set.
    ends : tensor
        Largest F of those where a coefficient may grow, and smallest F where it may shrink.
    tol : float
        Violation from which on rows outside are counted.
    values : int
        Number of kernel values of the update of the scores.
    """
    n = len(inside)
    out = torch.empty((programs.FIGURES, ceil(n / _BLOCK)), dtype=ends.dtype, device=ends.device)
    programs.count[(out.shape[1],)](*lines, inside.view(torch.int8), ends, out, n, tol, _BLOCK)
    figures = out.cpu().numpy()
    count, total, support, free, linear, norm, loss = figures[3:].sum(axis=1).tolist()
    return Census(
        highest=float(figures[0].max()),
        lowest=float(figures[1].min()),
        bias=float(figures[2, 0]),
        violators=int(count),
        excess=total,
        support=int(support),
        free=int(free),
        linear=linear,
        norm=norm,
        loss=loss,
        values=values,
    )


def chosen(lines: Any, inside: Any, ends: Any, by: Choice, seed: int) -> Any:
    """Return the mask of the rows of the next working set."""
    n, found = len(inside), torch.empty_like(inside)
    programs.choose[(ceil(n / _BLOCK),)](
        *lines, inside.view(torch.int8), ends, found.view(torch.int8), n, by.slack,
        by.support_slack, by.tol, by.chance, seed, _BLOCK,
    )  # fmt: skip
    if by.most < n:
        slots = torch.nonzero(found).flatten()
        if len(slots) > by.most:
            draw = torch.Generator(device=inside.device).manual_seed(seed)
            order = torch.randperm(len(slots), generator=draw, device=inside.device)
            found[slots[order[by.most :]]] = False
    return found
