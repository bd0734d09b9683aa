"""The five support vector machines as literal dense QPs.

    min_a  1/2 a'Qa + p'a     subject to     A a = d,   0 <= a <= upper

| model    | sign s | Q         | p            | A a = d                    | upper |
|----------|--------|-----------|--------------|----------------------------|-------|
| C-SVC    | y      | s_i s_j K | -1           | s'a = 0                    | C_i   |
| eps-SVR  | +1, -1 | s_i s_j K | -s y + eps   | s'a = 0                    | C_i   |
| nu-SVC   | y      | s_i s_j K | 0            | s'a = 0, 1'a = nu W        | w_i   |
| nu-SVR   | +1, -1 | s_i s_j K | -s y         | s'a = 0, 1'a = C nu W      | C w_i |
| one-class| +1     | K         | 0            | 1'a = nu W                 | w_i   |

W is the sum of the weights w (n when there are none). The regressions have 2n variables: the
n copies with s = +1 first, then the n copies with s = -1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MODELS = ("c_svc", "eps_svr", "nu_svc", "nu_svr", "one_class")


@dataclass(frozen=True)
class QP:
    """min 1/2 a'Qa + p'a, A a = d, 0 <= a <= upper; variable v belongs to row v % n."""

    Q: np.ndarray
    p: np.ndarray
    A: np.ndarray
    d: np.ndarray
    upper: np.ndarray
    sign: np.ndarray
    n: int

    def beta(self, a) -> np.ndarray:
        """beta = s a, of shape (layers, n)."""
        return (self.sign * np.asarray(a)).reshape(-1, self.n)

    def coef(self, a) -> np.ndarray:
        """c_r = sum of beta over the variables of row r."""
        return self.beta(a).sum(axis=0)


@dataclass(frozen=True)
class BetaDual:
    """max_beta t'beta - 1/2 c'Kc, lower <= beta <= upper, sum of beta over group g = totals[g].

    All arrays but ``totals`` have shape (layers, n).
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    group: np.ndarray
    totals: np.ndarray


def _qp(K, sign, p, A, d, upper) -> QP:
    n = len(K)
    row = np.arange(len(sign)) % n
    Q = sign[:, None] * sign[None, :] * np.asarray(K, dtype=np.float64)[np.ix_(row, row)]
    return QP(Q, p, np.array(A, dtype=np.float64), np.array(d, dtype=np.float64), upper, sign, n)


def _vector(value, n: int) -> np.ndarray:
    """A float64 vector of length n; None means ones, a scalar is repeated."""
    return np.broadcast_to(np.float64(1.0) if value is None else value, n).astype(np.float64)


def c_svc(K, y, C) -> QP:
    """C-SVC; y in {-1, +1}; C a scalar or one value per row (C times weight)."""
    y = np.asarray(y, dtype=np.float64)
    return _qp(K, y, -np.ones(len(y)), [y], [0.0], _vector(C, len(y)))


def eps_svr(K, y, C, epsilon: float) -> QP:
    """epsilon-SVR; C a scalar or one value per row."""
    y = np.asarray(y, dtype=np.float64)
    n = len(y)
    sign = np.repeat([1.0, -1.0], n)
    p = -sign * np.tile(y, 2) + epsilon
    return _qp(K, sign, p, [sign], [0.0], np.tile(_vector(C, n), 2))


def nu_svc(K, y, nu: float, weight=None) -> QP:
    """nu-SVC in LIBSVM's scaling."""
    y = np.asarray(y, dtype=np.float64)
    w = _vector(weight, len(y))
    A = [y, np.ones(len(y))]
    return _qp(K, y, np.zeros(len(y)), A, [0.0, nu * w.sum()], w)


def nu_svr(K, y, C: float, nu: float, weight=None) -> QP:
    """nu-SVR in LIBSVM's scaling."""
    y = np.asarray(y, dtype=np.float64)
    n = len(y)
    w = _vector(weight, n)
    sign = np.repeat([1.0, -1.0], n)
    A = [sign, np.ones(2 * n)]
    return _qp(K, sign, -sign * np.tile(y, 2), A, [0.0, C * nu * w.sum()], np.tile(C * w, 2))


def one_class(K, nu: float, weight=None) -> QP:
    """One-class SVM in LIBSVM's scaling."""
    w = _vector(weight, len(K))
    one = np.ones(len(K))
    return _qp(K, one, np.zeros(len(K)), [one], [nu * w.sum()], w)


def build(model: str, K, y, *, C: float, epsilon: float, nu: float, weight=None) -> QP:
    """One of MODELS from all the parameters any of them takes (one-class ignores y)."""
    w = _vector(weight, len(K))
    if model == "c_svc":
        return c_svc(K, y, C * w)
    if model == "eps_svr":
        return eps_svr(K, y, C * w, epsilon)
    if model == "nu_svc":
        return nu_svc(K, y, nu, w)
    if model == "nu_svr":
        return nu_svr(K, y, C, nu, w)
    if model == "one_class":
        return one_class(K, nu, w)
    raise ValueError(f"unknown model {model!r}; known: {', '.join(MODELS)}")


def in_beta_space(qp: QP) -> BetaDual:
    """The same problem in beta = s a: t = -s p, and the constraints as sums over groups.

    One row of A is one group (A = s, or A = 1 = s). Two rows s'a = d0 and 1'a = d1 are two
    groups: sum of beta over s = +1 is (d1 + d0)/2, over s = -1 it is -(d1 - d0)/2.
    """
    s = qp.sign
    if len(qp.d) == 1:
        group, totals = np.zeros(len(s), dtype=np.intp), qp.d.copy()
    else:
        group = np.where(s > 0, 0, 1)
        totals = np.array([qp.d[1] + qp.d[0], -(qp.d[1] - qp.d[0])]) / 2
    box = np.stack([np.where(s > 0, 0.0, -qp.upper), np.where(s > 0, qp.upper, 0.0)])
    lower, upper = box.reshape(2, -1, qp.n)
    shape = (-1, qp.n)
    return BetaDual((-s * qp.p).reshape(shape), lower, upper, group.reshape(shape), totals)
