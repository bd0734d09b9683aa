"""The certificate of any fitted SVM, from its coefficients and the training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, column_or_1d

from widestreet._src import checks
from widestreet._src.arrays import Floats, Ints
from widestreet._src.certificate import Certificate, examine, examine_margins, scores, worst
from widestreet._src.certificate.own_bias import violation_at
from widestreet._src.estimators import columns, data_checks, placing
from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.ensemble import EnsembleSVC
from widestreet._src.estimators.locating import coefficients_over
from widestreet._src.estimators.online.machine import OnlineMachine
from widestreet._src.estimators.regressor import Regressor
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.files.table import StoredRows
from widestreet._src.interchange.scikit_learn import as_own
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import Precomputed
from widestreet._src.problems.class_pairs import PairLayout
from widestreet._src.problems.dual import Dual
from widestreet._src.problems.formulations import DualFormulation, NuSVC
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import KernelRows, Rows, as_rows
from widestreet._src.status import Status
from widestreet._src.threads import resolve_threads
from widestreet._src.training.pair_problems import PairProblems
from widestreet._src.training.problem import Problem

_AT_BOUND = 1e-10  # of the box: other libraries multiply C and weights in another order


def certify(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    tol: float | None = None,
    gap_tol: float | None = None,
    pairs: bool = False,
) -> Any:
    """Compute how exact a fitted SVM is.

    Everything is recomputed in float64 from the coefficients of the model and its training rows.
    How the model was trained does not matter. The scores are computed on the `device` of the model
    if this machine has it.

    Parameters
    ----------
    model : estimator
        A fitted SVM: one of this package, or an `SVC`, `NuSVC`, `SVR`, `NuSVR` or `OneClassSVM` of
        scikit-learn, of scikit-learn-intelex or of another library with the same attributes, or a
        `sklearn.pipeline.Pipeline` that ends with one. Its parameters must be those of the fit.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        All rows that the model was trained on, in any order; those from `open_rows` are read into
        memory. For kernel="precomputed", the kernel matrix.
    y : array-like of shape (n_samples,), default=None
        Labels or targets; ignored by one-class SVMs.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the fit.
    tol : float, default=None
        Violation up to which the model is optimal; by default that of the model.
    gap_tol : float, default=None
        Relative gap up to which it is optimal; by default that of the model (None, which is no
        limit, for online estimators), or 0.01.
    pairs : bool, default=False
        If True, return a list with the certificate of each pair of classes.

    Returns
    -------
    Certificate or list of Certificate
        For several classes, the worst of all pairs. The status is "optimal" or, if the figures do
        not prove this, "stalled"; that of a model from `compact` is "approximate". The objectives
        are those of the best intercept; `kkt_violation` is that of the intercept of the model.

    Raises
    ------
    ValueError
        If the support vectors of the model are not among the rows.

    Examples
    --------
    >>> import sklearn.svm
    >>> import widestreet as ws
    >>> from widestreet.datasets import twonorm
    >>> X, y = twonorm(500, random_state=0)
    >>> model = sklearn.svm.SVC(tol=1e-4).fit(X, y)
    >>> ws.certify(model, X, y, tol=1e-3).status
    'optimal'
    >>> ws.certify(model, X, y, tol=1e-8).status
    'stalled'
    """
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X) if len(model) > 1 else X, model[-1]
    model = as_own(model)
    if isinstance(X, StoredRows):
        model, X = model._without_names(X.feature_names), X.to_numpy()
    model._check_fitted()
    for name in ("dual_coef_", "intercept_"):
        if not np.isfinite(dense_coef(getattr(model, name))).all():
            raise ValueError(f"model: {name} has values that are not finite; fit it again")
    if (np.asarray(model.support_) < 0).any():
        raise ValueError(
            "model: compact has replaced its support vectors by the weights of the features: "
            "certify the model before compact"
        )
    rows = _validated(model, X, y, sample_weight)
    try:
        if isinstance(model, EnsembleSVC):
            found = _margins_of(model, rows)
        else:
            goal = _goal(model, rows, tol, gap_tol)
            found = [replace(one, n_distinct_rows=0) for one in _certificates(model, rows, goal)]
    finally:
        placing.close(rows.gram.left)
    return found if pairs else worst(found)


def _goal(model: Any, rows: _Rows, tol: float | None, gap_tol: float | None) -> Goal:
    """Return the tolerances that are given, or those of the model."""
    if tol is None:
        tol = model.tol
        if isinstance(model, OnlineMachine) and isinstance(model, Regressor):
            tol *= max(1.0, float(np.abs(rows.target).max()))
    if gap_tol is None:
        gap_tol = getattr(model, "gap_tol", None)
    return Goal(
        checks.require_real("tol", tol, above=0.0),
        None if gap_tol is None else checks.require_real("gap_tol", gap_tol, above=0.0),
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Validated rows of positive weight.

    Attributes
    ----------
    gram : Gram
    target : ndarray
        Class index, target or zero.
    weight : ndarray
    lines : ndarray
        Lines of `dual_coef_` over these rows.
    """

    gram: Gram
    target: Floats
    weight: Floats
    lines: Floats


def _validated(model: Any, X: Any, y: Any, sample_weight: Any) -> _Rows:
    """Return the rows of positive weight with the coefficients of the model."""
    X = model._query(X)
    if isinstance(model._kernel, Precomputed):
        data_checks.check_kernel_matrix(X)
    weight = data_checks.check_weight(sample_weight, X.shape[0])
    target = np.zeros(X.shape[0])
    labels = isinstance(model, Classifier)
    if labels or isinstance(model, Regressor):
        if y is None:
            raise ValueError("y is missing: pass the labels or targets of the fit")
        y = column_or_1d(y)
        check_consistent_length(X, y)
        target = _codes(model, y) if labels else columns.numbers("y", y)
    if labels:
        weight = weight * model.class_weight_[target.astype(np.int64)]
    lines = coefficients_over("model", model, X, target, weight, labels=labels)
    used = np.flatnonzero(weight > 0)
    threads = resolve_threads(model.n_jobs)
    vectors: Rows
    if isinstance(model._kernel, Precomputed):
        vectors = KernelRows(X, np.arange(X.shape[0]))
    else:
        host = as_rows(X, centred=model._kernel.translation_invariant)
        device = getattr(model, "device", "cpu")
        vectors = placing.placed(host, model._kernel, device, None, needed=False)
    gram = Gram(model._kernel, vectors, threads=threads).select(used)
    return _Rows(gram, target[used], weight[used], lines[:, used])


def _codes(model: Any, y: Any) -> Floats:
    """Return the index of the class of each row."""
    classes = model.classes_
    try:
        code = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        known = classes[code] == y
    except TypeError:
        known = np.zeros(len(y), dtype=bool)
    if not np.all(known):
        other = np.asarray(y)[~known][0]
        raise ValueError(f"y has the label {other!s}, but the classes are {classes.tolist()}")
    absent = np.setdiff1d(np.arange(len(classes)), code)
    if len(absent):
        raise ValueError(f"y has no row of class {classes[absent[0]]}, which the model knows")
    return np.asarray(code, dtype=np.float64)


def _certificates(model: Any, rows: _Rows, goal: Goal) -> list[Certificate]:
    """Return the certificate of each problem."""
    formulation: DualFormulation = model._formulation()
    status = Status.APPROXIMATE if hasattr(model, "compaction_") else Status.OPTIMAL
    if not isinstance(model, Classifier):
        coef, intercept = rows.lines[0], float(model.intercept_[0])
        dual = formulation.dual(rows.target, formulation.box(rows.weight))
        beta = coef[None] if dual.layers == 1 else np.stack([coef.clip(0), coef.clip(None, 0)])
        score = scores(rows.gram, beta)
        if dual.groups == 2:
            beta = _with_missing_sums(dual, beta, np.abs(rows.target - score - intercept))
        beta = _at_bounds(dual, beta)
        return [_examined(rows.gram, formulation, dual, beta, score, intercept, goal, status)]
    return _of_pairs(model, rows, formulation, goal, status)


def _of_pairs(
    model: Any, rows: _Rows, formulation: DualFormulation, goal: Goal, status: Status
) -> list[Certificate]:
    """Return the certificate of each pair of classes."""
    layout, code = PairLayout(len(model.classes_)), rows.target.astype(np.int64)
    box, members = formulation.box(rows.weight), _members(code, layout.classes)
    coefs, intercepts = layout.gather(rows.lines, members), model.intercept_.tolist()
    problems = []
    for p, (i, j) in enumerate(layout.pairs):
        both = np.concatenate([members[i], members[j]])
        sign = layout.sign_of_first * np.where(code[both] == i, 1.0, -1.0)
        problems.append(Problem(formulation.dual(sign, box[both])))
        if isinstance(formulation, NuSVC):  # coefficients and intercept are divided by the margin
            first = coefs[p][: len(members[i])]
            margin = formulation.margin(first, box[members[i]], box[members[j]])
            coefs[p], intercepts[p] = margin * coefs[p], margin * intercepts[p]
    every = PairProblems(members, problems)
    points = [_at_bounds(one.dual, coef[None]) for one, coef in zip(problems, coefs, strict=True)]
    found = every.scores(rows.gram, [beta[0] for beta in points])
    return [
        _examined(
            rows.gram.select(every.rows(p)), formulation, one.dual, beta, score, b, goal, status
        )
        for p, (one, beta, score, b) in enumerate(
            zip(problems, points, found, intercepts, strict=True)
        )
    ]


def _members(code: Ints, classes: int) -> list[Ints]:
    return [np.flatnonzero(code == c) for c in range(classes)]


def _with_missing_sums(dual: Dual, beta: Floats, residual: Floats) -> Floats:
    """Add the same amount to both variables of rows of a nu-SVR, until the sums are met.

    Only their difference is in the model. Both are nonzero where the tube has no width; such rows
    lie on the regression function, so rows with the smallest residuals come first.
    """
    missing = max(0.0, float(dual.total[0] - beta[0].sum()))
    order = np.argsort(residual, kind="stable")
    room = np.minimum(dual.upper[0] - beta[0], beta[1] - dual.lower[1]).clip(0)[order]
    more = np.zeros(len(order))
    more[order] = np.clip(missing - (np.cumsum(room) - room), 0.0, room)
    return beta + np.stack([more, -more])


def _at_bounds(dual: Dual, beta: Floats) -> Floats:
    """Return variables of which those that are at a bound up to rounding equal it."""
    slack = _AT_BOUND * (dual.upper - dual.lower)
    for bound in (dual.lower, dual.upper):
        beta = np.where(np.abs(beta - bound) <= slack, bound, beta)
    return beta


def _examined(
    gram: Gram,
    formulation: DualFormulation,
    dual: Dual,
    beta: Floats,
    score: Floats,
    intercept: float,
    goal: Goal,
    status: Status,
) -> Certificate:
    """Return the certificate of a point, with its scores and the intercept of its model.

    `status` is that of a point whose figures are those of an optimum.
    """
    if dual.diagonal is not None:
        gram = gram.select(None, diagonal=dual.diagonal)
        score = score + dual.diagonal * beta.sum(axis=0)
    found = examine(gram, dual, beta, score=score, goal=goal)
    shift = intercept - formulation.read(found.bias, goal.tol).intercept
    violation = violation_at(dual, beta, score, found.bias + shift)
    return replace(found, violation=violation).certificate(status, goal)


def _margins_of(model: EnsembleSVC, rows: _Rows) -> list[Certificate]:
    """Return the certificates of an ensemble as a hard-margin SVM."""
    layout, code = model._layout, rows.target.astype(np.int64)
    members = _members(code, layout.classes)
    found = []
    for p, coef in enumerate(layout.gather(rows.lines, members)):
        i, j = layout.pairs[p]
        both = np.concatenate([members[i], members[j]])
        sign = layout.sign_of_first * np.where(code[both] == i, 1.0, -1.0)
        one = examine_margins(
            rows.gram.select(both),
            sign,
            (sign * coef).clip(0),
            offset=float(model.intercept),
            status=Status.APPROXIMATE,
            part=model.epsilon,
        )
        found.append(replace(one, n_distinct_rows=0))
    return found
