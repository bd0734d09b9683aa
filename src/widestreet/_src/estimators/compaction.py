"""Models with fewer support vectors: the work of `compact`."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.engines.budget import parse_memory
from widestreet._src.estimators.scoring import Expansion, dense_coef, expansion_of
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Kernel, Laplacian, Linear, Poly
from widestreet._src.kernels.native import FAR
from widestreet._src.kernels.span_of_few_vectors import Span, remainder_norm
from widestreet._src.rows import Vectors, as_rows
from widestreet._src.status import Status
from widestreet._src.threads import resolve_threads

_FEW_VECTORS = 2000  # of more support vectors at most half are chosen, since time grows as n^3
_CLOSER = 0.8  # of the norm that is aimed at next, if the tolerance is not reached
_REACH = 4.0  # rows may be this many times longer than vectors, in bounds on rounding errors


@dataclass(frozen=True)
class Compaction:
    """Result of `compact`: the bound or the measured change, and the numbers of vectors.

    Attributes
    ----------
    tolerance : float
        Largest difference of decision values that was asked for.
    bound : float or None
        Proven bound on the difference of decision values of any row; of several pairs of classes,
        the largest. None if differences were measured instead.
    measured : float or None
        Quantile of the differences on the given rows; None without such rows.
    quantile : float or None
        Which quantile that is.
    n_before, n_after : int
        Number of support vectors.
    """

    tolerance: float
    bound: float | None
    measured: float | None
    quantile: float | None
    n_before: int
    n_after: int


def compacted(model: Any, tolerance: float, rows: Any, quantile: float) -> Any:
    """Return a model with fewer support vectors.

    Parameters
    ----------
    model : KernelModel
        A fitted model.
    tolerance : float
    rows : ndarray, CSR or None
        Validated rows on which differences are measured; None for a proven bound.
    quantile : float
    """
    whole = expansion_of(model)
    if isinstance(whole.kernel, Linear):
        return _of_weights(model, whole, tolerance)
    _require_kernel(whole.kernel, model.kernel, rows is not None)
    if rows is None:
        coef, bound = _proven(model, whole, tolerance)
        reached: dict[str, Any] = {"bound": bound, "measured": None, "quantile": None}
    else:
        coef, measured = _measured(model, whole, tolerance, rows, quantile)
        reached = {"bound": None, "measured": measured, "quantile": quantile}
    kept = np.flatnonzero(coef.any(axis=0))
    found = copy(model)
    lines: Any = np.ascontiguousarray(coef[:, kept])
    found.dual_coef_ = sparse.csr_matrix(lines) if sparse.issparse(model.dual_coef_) else lines
    found.support_vectors_ = model.support_vectors_[kept]
    found.support_ = model.support_[kept]
    code = np.repeat(np.arange(len(model.n_support_)), model.n_support_)
    counts = np.bincount(code[kept], minlength=len(model.n_support_))
    found.n_support_ = counts.astype(model.n_support_.dtype)
    found.compaction_ = Compaction(tolerance, n_before=len(code), n_after=len(kept), **reached)
    found.certificates_ = [replace(one, status=Status.APPROXIMATE) for one in model.certificates_]
    found.certificate_ = replace(model.certificate_, status=Status.APPROXIMATE)
    return found


def _require_kernel(kernel: Kernel, name: Any, measured: bool) -> None:
    """Raise ValueError if models with this kernel cannot be compacted."""
    if isinstance(kernel, RBF | Laplacian):
        return
    if isinstance(kernel, Poly) and kernel.positive:
        if measured:
            return
        raise ValueError(
            "compact: a polynomial kernel is not bounded, so no bound holds for all rows: pass "
            "rows= to measure the differences on these"
        )
    raise ValueError(
        "compact needs kernel='rbf', 'laplacian' or 'linear', or kernel='poly' with coef0 >= 0 and "
        f"rows=, got {name!r}"
    )


def _of_weights(model: Any, whole: Expansion, tolerance: float) -> Any:
    """Return a linear model with one vector for each pair of classes: the weights."""
    layout, weights = whole.layout, whole.weights
    pairs = max(1, len(layout.pairs))
    coef = np.zeros((layout.lines, pairs))
    first = layout.first if layout.classes > 2 else np.zeros(1, dtype=np.int64)
    coef[layout.second - 1 if layout.classes > 2 else first, np.arange(pairs)] = 1.0
    found, before = copy(model), int(model.n_support_.sum())
    found.dual_coef_ = sparse.csr_matrix(coef) if sparse.issparse(model.dual_coef_) else coef
    found.support_vectors_ = weights.copy()
    found.support_ = np.full(pairs, -1, dtype=model.support_.dtype)
    counts = np.bincount(first, minlength=len(model.n_support_))
    found.n_support_ = counts.astype(model.n_support_.dtype)
    found._centre = None
    found.compaction_ = Compaction(tolerance, 0.0, None, None, before, pairs)
    return found


@dataclass(frozen=True, eq=False)
class _Problem:
    """Expansion of one decision value: the vectors of its classes.

    Attributes
    ----------
    lines : ndarray of shape (n,)
        Line of `dual_coef_` that each vector has its coefficient in.
    columns : ndarray of shape (n,)
        Indices of the vectors.
    coef : ndarray of shape (n,)
    """

    lines: Ints
    columns: Ints
    coef: Floats


def _problems(whole: Expansion) -> Iterator[_Problem]:
    """Yield the expansion of each pair of classes, or of the only decision value."""
    layout, coef = whole.layout, whole.coef
    if layout.classes <= 2:
        n = coef.shape[1]
        yield _Problem(np.zeros(n, dtype=np.int64), np.arange(n), coef[0])
        return
    ends = np.array(whole.ends)
    for i, j in layout.pairs:
        parts = [np.arange(ends[c], ends[c + 1]) for c in (i, j)]
        own = [layout.line(i, j), layout.line(j, i)]
        lines = np.repeat(own, [len(part) for part in parts])
        columns = np.concatenate(parts)
        yield _Problem(lines, columns, coef[lines, columns])


def _gram_of_vectors(model: Any, whole: Expansion) -> Gram:
    """Return the Gram of the support vectors."""
    rows = as_rows(whole.vectors, centre=whole.centre)
    return Gram(whole.kernel, rows, threads=resolve_threads(model.n_jobs))


def _gram_of_long_rows(gram: Gram) -> Gram:
    """Return a Gram whose bounds on rounding errors hold for rows longer than the vectors."""
    rows = cast(Vectors, gram.left)
    longest = _REACH**2 * rows.largest_square(gram.threads)
    if isinstance(gram.kernel, RBF) and gram.kernel.gamma > 0:
        longest = max(longest, FAR / gram.kernel.gamma)  # beyond, there is another formula
    return Gram(gram.kernel, rows, threads=gram.threads, longest=longest)


def _most(model: Any, n: int) -> int:
    """Return the largest number of vectors to choose from n, with a matrix in `max_memory`."""
    worth = n - 1 if n <= _FEW_VECTORS else n // 2
    return max(0, min(worth, parse_memory(model.max_memory) // (2 * 8 * max(1, n))))


def _proven(model: Any, whole: Expansion, tolerance: float) -> tuple[Floats, float]:
    """Return lines of `dual_coef_` and a bound on the change of decision values.

    A decision value that fewer vectors do not bring within the tolerance stays as it is.
    """
    gram, found, worst = _gram_of_vectors(model, whole), np.zeros_like(whole.coef), 0.0
    anywhere = _gram_of_long_rows(gram)
    for one in _problems(whole):
        part = gram.select(one.columns)
        span = Span(part, one.coef, _most(model, len(one.coef)))
        span.include(np.flatnonzero(found[:, one.columns].any(axis=0)))
        coef, bound, aim, more = one.coef, 0.0, tolerance, True
        while more and aim > 0.0:  # at zero only rounding errors are left
            more = span.grow(len(one.coef), aim)
            aim = _CLOSER * min(aim, span.square**0.5)
            if span.square > tolerance**2:
                continue
            trial = span.coefficients()
            reached = remainder_norm(part, one.coef - trial) + _rounding(anywhere, one.coef, trial)
            if reached <= tolerance:
                coef, bound = trial, reached
                break
        found[one.lines, one.columns] = coef
        worst = max(worst, bound)
    return found, worst


def _rounding(gram: Gram, *coefs: Floats) -> float:
    """Bound the rounding errors of scores with these coefficients, together."""
    errors = [gram.score_error(len(c), float(np.abs(c).sum()), float(c.sum())) for c in coefs]
    return float(np.sum(errors))


def _measured(
    model: Any, whole: Expansion, tolerance: float, rows: Any, quantile: float
) -> tuple[Floats, float]:
    """Return lines of `dual_coef_` and the quantile of the differences on the rows.

    Remainders of ever smaller norm are tried. A vector that is chosen for one pair of classes is
    used for the others as well.
    """
    gram, exact = _gram_of_vectors(model, whole), whole.scorer(rows, model.n_jobs)()
    problems = list(_problems(whole))
    spans = [Span(gram.select(p.columns), p.coef, _most(model, len(p.coef))) for p in problems]
    aim, more = max(span.square for span in spans) ** 0.5, True
    while more and aim > 0.0:
        aim *= _CLOSER
        found, more = np.zeros_like(whole.coef), False
        for one, span in zip(problems, spans, strict=True):
            span.include(np.flatnonzero(found[:, one.columns].any(axis=0)))
            more |= span.grow(len(one.coef), aim)
            found[one.lines, one.columns] = span.coefficients()
        other = Expansion(
            whole.kernel, whole.vectors, whole.column, found, whole.n_support, whole.centre
        )
        differences = np.abs(other.scorer(rows, model.n_jobs)() - exact).max(axis=0)
        measured = float(np.quantile(differences, quantile))
        if measured <= tolerance:
            return found, measured
    return dense_coef(whole.coef), 0.0
