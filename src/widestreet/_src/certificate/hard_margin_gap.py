"""The certificate of the hard-margin problem without a bias, which ensembles approximate."""

from __future__ import annotations

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.certificate.certificate import Certificate
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.poll import Poll
from widestreet._src.status import Status


def examine_margins(
    gram: Gram,
    sign: Floats,
    weight: Floats,
    *,
    offset: float,
    status: Status,
    part: float,
    poll: Poll | None = None,
) -> Certificate:
    """Examine weights as a solution of the hard-margin problem without a bias.

    The problem is  min 1/2 |w|^2 - rho,  y_i w.phi_i >= rho  with the dual  max -1/2 a'Qa  over the
    simplex. The weights, scaled to sum one, are a point of the dual. They define a hyperplane w,
    whose best rho is the smallest margin. The gap is a'h - min h with h = Qa, which is also the
    violation of the optimality conditions.

    Parameters
    ----------
    gram : Gram
    sign : ndarray of shape (n,)
        Classes of the rows, +1 and -1.
    weight : ndarray of shape (n,)
        Nonnegative weights of the rows.
    offset : float
        Constant that is added to all kernel values.
    status : Status
        Status of the engine. It becomes "optimal" if the examination proves this, unless the fit
        was interrupted.
    part : float
        Violation, relative to a'h, up to which the weights are optimal.
    poll : Poll, optional
    """
    share = weight / weight.sum()
    used = np.flatnonzero(share)
    coef = sign * share
    score = gram.scan(None, used, coef[used], poll=poll) + offset * float(coef.sum())
    margin = sign * score
    rho, least = float(share @ margin), float(margin.min())
    gap = max(0.0, rho - least)
    primal, dual = 0.5 * rho - least, -0.5 * rho
    scale = max(abs(primal), abs(dual))
    tol = part * max(rho, 0.0)
    error = gram.score_error(len(used), 1.0, float(coef.sum()))
    rounding = 2.0 * float(error) + 8 * 2.0**-53 * float(np.abs(score).max())
    if gap + rounding <= tol and status != Status.INTERRUPTED:
        status = Status.OPTIMAL
    return Certificate(
        primal_objective=primal,
        dual_objective=dual,
        gap=gap if gram.kernel.positive else float("nan"),
        relative_gap=(gap / scale if scale > 0 else gap) if gram.kernel.positive else float("nan"),
        kkt_violation=gap,
        status=status,
        n_rows=len(sign),
        tol=tol,
        rounding=rounding,
        n_distinct_rows=len(sign),
    )
