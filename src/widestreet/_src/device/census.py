"""State of all rows in the memory of a GPU, and the choice of a working set among them."""

from __future__ import annotations

from typing import Any

import torch

from widestreet._src.device.contract import Census, Choice

_FINITE = 1e29  # extremes beyond it belong to no row


def sides(lines: Any) -> tuple[Any, Any]:
    """Return F of rows where the coefficient may grow, and F where it may shrink.

    The lines are coefficients, scores, targets, tubes and both bounds. Other values are infinite.
    """
    coef, score, target, tube, low, high = lines
    f = target - score
    up = torch.where(coef < 0, f + tube, torch.where(coef < high, f, -torch.inf))
    down = torch.where(coef > 0, f, torch.where(coef > low, f + tube, torch.inf))
    return up, down


def _middle(ends: Any) -> Any:
    """Return the middle of an interval of biases; the finite end if there is one, or zero."""
    top, bottom = ends
    top = torch.where(top > -_FINITE, top, torch.where(bottom < _FINITE, bottom, 0.0))
    return 0.5 * (top + torch.where(bottom < _FINITE, bottom, top))


def of_rows(lines: Any, inside: Any, ends: Any, tol: float, values: int) -> Census:
    """Return the state of rows; `ends` are the extremes of those inside the working set."""
    coef, score, target, tube, low, high = lines
    (up, down), bias = sides(lines), _middle(ends)
    excess = torch.maximum(up - bias, bias - down)
    violates = (excess > tol) & ~inside
    e = target - score - bias
    loss = (high * e).clamp(min=0.0) + (low * (e + tube)).clamp(min=0.0)
    linear = target * coef + tube * coef.clamp(max=0.0)
    figures = torch.stack(
        [
            up.max(),
            down.min(),
            bias,
            violates.sum(),
            torch.where(violates, excess, 0.0).sum(),
            (coef != 0).sum(),
            ((coef != 0) & (coef > low) & (coef < high)).sum(),
            linear.sum(),
            (coef * score).sum(),
            loss.sum(),
        ]
    ).tolist()
    highest, lowest, middle, count, total, support, free, linear_sum, norm, loss_sum = figures
    return Census(
        highest=highest,
        lowest=lowest,
        bias=middle,
        violators=int(count),
        excess=total,
        support=int(support),
        free=int(free),
        linear=linear_sum,
        norm=norm,
        loss=loss_sum,
        values=values,
    )


def chosen(lines: Any, inside: Any, ends: Any, by: Choice, seed: int) -> Any:
    """Return the mask of the rows of the next working set.

    If no coefficient is free, every bias in an interval is optimal. The distance of a row from
    violating is then measured from the nearer end of the interval.
    """
    (up, down), bias, (top, bottom) = sides(lines), _middle(ends), ends
    open_ = (top < bottom) & (top > -_FINITE) & (bottom < _FINITE)
    least, most = torch.where(open_, top, bias), torch.where(open_, bottom, bias)
    slack = -torch.maximum(up - least, most - down)
    stay = slack < torch.where(lines[0] != 0, by.support_slack, by.slack)
    enter = torch.maximum(up - bias, bias - down) > by.tol
    draw = torch.Generator(device=inside.device).manual_seed(seed)
    if by.chance < 1.0:
        enter &= torch.rand(len(inside), generator=draw, device=inside.device) < by.chance
    found = torch.where(inside, stay, enter)
    slots = torch.nonzero(found).flatten()
    if len(slots) > by.most:
        order = torch.randperm(len(slots), generator=draw, device=inside.device)
        found[slots[order[by.most :]]] = False
    return found
