"""Maps from decision values to probabilities.

All are fitted to decision values of models that were not trained on the row. With f the decision
value of a row for its positive class:

    sigmoid      p = 1 / (1 + exp(A f + B)), A <= 0      Platt (2000), with the corrections of
                                                         Lin, Lin and Weng (2007)
    isotonic     p is a nondecreasing function of f      Zadrozny and Elkan (2002)
    temperature  p_c = exp(s_c / T) / sum_d exp(s_d / T)  Guo et al. (2017)

They are fitted to Platt's targets, (P + 1) / (P + 2) for the positive rows and 1 / (N + 2) for the
negative ones, where P and N are their weights: no probability becomes 0 or 1. The targets are those
of one additional row of each class, of either label. Where k classes have k - 1 maps each, these
rows are divided among the maps: 1 / (k - 1) takes the place of 1, and twice this that of 2. In
temperature scaling the target of the own class is that of positive rows, and the other classes
share the rest. In the sigmoid, A is not allowed to be positive: a larger decision value never makes
the positive class less probable. Temperature scaling has a score s_c for each class: half the sum
of its decision values against the other classes. If there are several, values beyond the margin, 1,
count as 1: a class that wins by far against one class must not win against all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit, logsumexp, softmax
from sklearn.isotonic import IsotonicRegression

from widestreet._src.arrays import Bools, Floats, Ints
from widestreet._src.problems.class_pairs import PairLayout

_WIDEST = 1e6  # factor between 1 and the extremes of the temperature, relative to the scores
_EXACT = 1e-10  # tolerance of the optimisers, relative to scaled decision values
_MOST_STEPS = 100  # of Newton's method; about ten suffice
_LOSS_ROUNDING = 1e-15  # of a mean loss: what is not worse by more is not worse
_RIDGE = 1e-12  # added to second derivatives, which vanish for separable rows


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """p = 1 / (1 + exp(slope f + offset)), slope <= 0.

    Attributes
    ----------
    slope, offset : float
    """

    name: ClassVar[str] = "sigmoid"

    slope: float
    offset: float

    @classmethod
    def fit(cls, value: Floats, positive: Bools, weight: Floats, prior: float = 1.0) -> Sigmoid:
        """Maximise the likelihood of Platt's targets, a concave function of slope and offset."""
        return cls.fit_all([(value, positive, weight)], prior)[0]

    @classmethod
    def fit_all(
        cls, samples: Sequence[tuple[Floats, Bools, Floats]], prior: float = 1.0
    ) -> list[Sigmoid]:
        """Return the map of each sample, all of which take their Newton steps at the same time.

        Parameters
        ----------
        samples : sequence of tuple
            Decision values, whether rows are positive, and weights.
        prior : float
            Weight of the additional row of each label.
        """
        sizes = np.array([float(np.abs(value).max(initial=0.0)) or 1.0 for value, _, _ in samples])
        slope, offset = _Likelihoods.join(samples, sizes, prior).maximisers()
        return [
            cls(float(one), float(other))
            for one, other in zip(np.minimum(slope, 0.0) / sizes, offset, strict=True)
        ]

    def check(self) -> None:
        """Raise ValueError if these are not the numbers of such a map."""
        _check(np.array([self.slope, self.offset]), self.slope <= 0)

    def __call__(self, value: Floats) -> Floats:
        """Return the probability of the positive class."""
        return np.asarray(expit(-(self.slope * value + self.offset)))


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A nondecreasing, piecewise linear function, constant beyond its ends.

    Attributes
    ----------
    value, probability : ndarray
        Its corners.
    """

    name: ClassVar[str] = "isotonic"

    value: Floats
    probability: Floats

    @classmethod
    def fit(cls, value: Floats, positive: Bools, weight: Floats, prior: float = 1.0) -> Isotonic:
        """Minimise the weighted squared distance from Platt's targets."""
        target = platt_targets(positive, weight, prior)
        found = IsotonicRegression().fit(value, target, sample_weight=weight)
        return cls(
            np.asarray(found.X_thresholds_, dtype=np.float64),
            np.asarray(found.y_thresholds_, dtype=np.float64),
        )

    def check(self) -> None:
        """Raise ValueError if these are not the corners of such a map."""
        x, y = self.value, self.probability
        _check(x, x.ndim == 1 and len(x) > 0 and bool((np.diff(x) > 0).all()))
        _check(y, y.shape == x.shape and bool((np.diff(y) >= 0).all()))
        _check(y, bool((y > 0).all() and (y < 1).all()))

    def __call__(self, value: Floats) -> Floats:
        """Return the probability of the positive class."""
        return np.asarray(np.interp(value, self.value, self.probability))


@dataclass(frozen=True, eq=False)
class Temperature:
    """p_c = exp(s_c / T) / sum_d exp(s_d / T) for the scores s of the classes.

    Attributes
    ----------
    temperature : float
        T.
    """

    name: ClassVar[str] = "temperature"

    temperature: float

    @classmethod
    def fit(cls, score: Floats, code: Ints, weight: Floats) -> Temperature:
        """Maximise the likelihood of the targets, a concave function of 1 / T.

        Parameters
        ----------
        score : ndarray of shape (n, classes)
        code : ndarray of shape (n,)
            Class of each row.
        weight : ndarray of shape (n,)
        """
        classes = score.shape[1]
        size = float(np.ptp(score, axis=1).max(initial=0.0)) or 1.0
        scaled = score / size
        own, total = scaled[np.arange(len(code)), code], scaled.sum(axis=1)
        rest = 1.0 / (np.bincount(code, weight, classes)[code] + 2.0)
        aim = (1.0 - rest) * own + rest / (classes - 1) * (total - own)
        part = weight / weight.sum()

        def loss(log_inverse: float) -> float:
            z = np.exp(log_inverse)
            return float(part @ (logsumexp(z * scaled, axis=1) - z * aim))

        edge = np.log(_WIDEST)
        found = minimize_scalar(
            loss, bounds=(-edge, edge), method="bounded", options={"xatol": _EXACT}
        )
        return cls(size / float(np.exp(found.x)))

    def check(self) -> None:
        """Raise ValueError if this is not a temperature."""
        _check(np.array([self.temperature]), self.temperature > 0)

    def __call__(self, score: Floats) -> Floats:
        """Return the probability of each class, of shape (n, classes)."""
        return np.asarray(softmax(score / self.temperature, axis=1))


@dataclass(frozen=True, eq=False)
class _Likelihoods:
    """Negative log-likelihoods of sigmoids p = expit(-(slope x + offset)), one for each sample.

    Attributes
    ----------
    x, target, weight : ndarray
        Scaled decision values, targets, and weights with a sum of one in each sample.
    of : ndarray
        Sample of each row; the rows of a sample stand together.
    begin : ndarray
        First row of each sample.
    """

    x: Floats
    target: Floats
    weight: Floats
    of: Ints
    begin: Ints

    @classmethod
    def join(
        cls, samples: Sequence[tuple[Floats, Bools, Floats]], sizes: Floats, prior: float
    ) -> _Likelihoods:
        """Return those of some samples, whose decision values are divided by `sizes`."""
        counts = [len(value) for value, _, _ in samples]
        return cls(
            np.concatenate([v / size for (v, _, _), size in zip(samples, sizes, strict=True)]),
            np.concatenate([platt_targets(plus, w, prior) for _, plus, w in samples]),
            np.concatenate([w / w.sum() for _, _, w in samples]),
            np.repeat(np.arange(len(counts)), counts),
            np.cumsum([0, *counts[:-1]]),
        )

    def maximisers(self) -> tuple[Floats, Floats]:
        """Return the slopes, zero where the best one is positive, and the offsets."""
        offset = -np.asarray(logit(self._sums(self.weight * self.target)))  # without a slope
        slope = np.zeros_like(offset)
        value, p = self._loss(slope, offset)
        rising = self._derivatives(p)[0] > 0  # else, by convexity, no slope is better
        for _ in range(_MOST_STEPS):
            g, h, gg, gh, hh = self._derivatives(p)
            left = rising & (np.maximum(np.abs(g), np.abs(h)) > _EXACT)
            if not left.any():
                break
            length = left / (gg * hh - gh * gh)  # over the determinant of the second derivatives
            step = length * (gh * h - hh * g), length * (gh * g - gg * h)
            length = np.ones_like(slope)
            while True:
                after, p = self._loss(slope + length * step[0], offset + length * step[1])
                worse = (after > value + _LOSS_ROUNDING) & (length > _EXACT)
                if not worse.any():
                    break
                length[worse] /= 2.0
            slope, offset, value = slope + length * step[0], offset + length * step[1], after
        return slope, offset

    def _sums(self, values: Floats) -> Floats:
        found: Floats = np.add.reduceat(values, self.begin)
        return found

    def _loss(self, slope: Floats, offset: Floats) -> tuple[Floats, Floats]:
        """Return the losses, and the probability of the positive class for each row."""
        z = slope[self.of] * self.x + offset[self.of]
        e = np.exp(-np.abs(z))
        loss = np.log1p(e) + np.maximum(z, 0.0) - (1.0 - self.target) * z
        return self._sums(self.weight * loss), np.where(z > 0, e, 1.0) / (1.0 + e)

    def _derivatives(self, p: Floats) -> tuple[Floats, ...]:
        """Return the first and second derivatives of the losses."""
        first, second = self.weight * (self.target - p), self.weight * p * (1.0 - p)
        across = second * self.x
        return (
            self._sums(first * self.x),
            self._sums(first),
            self._sums(across * self.x) + _RIDGE,
            self._sums(across),
            self._sums(second) + _RIDGE,
        )


Map = Sigmoid | Isotonic | Temperature
MAPS: dict[str, type[Map]] = {kind.name: kind for kind in (Sigmoid, Isotonic, Temperature)}


def _check(numbers: Floats, sound: bool) -> None:
    if not (sound and numbers.dtype == np.float64 and np.isfinite(numbers).all()):
        raise ValueError("a map to probabilities with wrong numbers")


def platt_targets(positive: Bools, weight: Floats, prior: float = 1.0) -> Floats:
    """Return Platt's targets of positive and negative rows.

    Parameters
    ----------
    positive : ndarray of bool
    weight : ndarray
    prior : float
        Weight of the additional row of each label.
    """
    plus, minus = float(weight[positive].sum()), float(weight[~positive].sum())
    high, low = (plus + prior) / (plus + 2 * prior), prior / (minus + 2 * prior)
    return np.where(positive, high, low)


def class_scores(layout: PairLayout, decision: Floats) -> Floats:
    """Return the score of each class: half the sum of its decision values against the others.

    Parameters
    ----------
    layout : PairLayout
    decision : ndarray of shape (n, pairs)
    """
    found = np.zeros((len(decision), layout.classes))
    if layout.classes > 2:
        decision = np.clip(decision, -1.0, 1.0)
    for p, (i, j) in enumerate(layout.pairs):
        found[:, i] += 0.5 * layout.sign_of_first * decision[:, p]
        found[:, j] -= 0.5 * layout.sign_of_first * decision[:, p]
    return found
