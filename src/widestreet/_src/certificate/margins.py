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

    Its problem is  min 1/2 |w|^2 - rho,  y_i w.phi_i >= rho  with the dual  max -1/2 a'Qa  over the
    simplex. The weights, scaled to sum one, are a point of the dual and make a plane w, whose best
    rho is the smallest margin: the gap between the two is a'h - min h, h = Qa, which is also by how
    much the optimality conditions are violated.

    Parameters
    ----------
    gram : Gram
    sign : ndarray of shape (n,)
        +1 and -1.
    weight : ndarray of shape (n,)
        Not negative.
    offset : float
        Added to all kernel values.
    status : Status
        What the engine says: "optimal" is for this examination to say, unless it was interrupted.
    part : float
        Of a'h: the violation up to which that is so.
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
