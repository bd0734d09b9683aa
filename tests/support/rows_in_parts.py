"""Duals, points of any quality, and their rows in parts that are asked by messages."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial

import numpy as np

from support.fitting import build_dual, in_reference_terms
from support.problems import random_feasible
from widestreet._src.certificate import Part, examine_parts
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.problems.dual import select
from widestreet._src.rows import as_rows

POINTS = ("feasible", "at bounds", "zero", "sum not met", "outside", "all at upper")


class PicklingParts:
    """Parts that are asked by messages: questions and answers are pickled."""

    def __init__(self, parts):
        self.parts = parts

    def ask(self, question):
        message = pickle.dumps(question)
        return [pickle.loads(pickle.dumps(pickle.loads(message)(part))) for part in self.parts]

    def screen(self, limits):
        return self.ask(partial(Part.screen, limits=limits))


def problem(model, rng, *, weighted=False, n=40, kernel=None, diagonal=False):
    """A dual on random rows, some of them twice."""
    X = rng.normal(size=(n, 2))
    X[: n // 4] = X[n // 4 : 2 * (n // 4)]
    y = X[:, 0] + rng.normal(size=n)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], n) if weighted else None
    labels = np.where(y > np.median(y), 1.0, -1.0)
    dual = build_dual(model, labels if model.endswith("svc") else y, C=3.0, nu=0.2, weight=weight)
    if diagonal:
        d = rng.choice([0.0, 0.1, 1.0], n)
        wide = np.where((d > 0) & (rng.random(n) < 0.5), 100.0, 1.0)
        dual = replace(dual, upper=wide * dual.upper, lower=wide * dual.lower, diagonal=d)
    kernel = RBF(0.5) if kernel is None else kernel
    gram = Gram(kernel, as_rows(X, centred=kernel.translation_invariant))
    return gram.select(None, diagonal=dual.diagonal), dual


def point(dual, kind, rng):
    """A point of the dual, feasible or not."""
    beta = random_feasible(in_reference_terms(dual), rng)
    match kind:
        case "at bounds":
            return np.where(rng.random(beta.shape) < 0.5, dual.lower, dual.upper)
        case "zero":
            return np.zeros_like(beta)
        case "sum not met":
            return beta * rng.random(beta.shape)
        case "outside":
            return beta + rng.normal(size=beta.shape) * (rng.random(beta.shape) < 0.3)
        case "all at upper":
            return dual.upper.copy()
        case _:
            return beta


def split(gram, dual, beta, owner, score=None):
    """Parts of the rows, with a Gram between them and the support vectors; some may have no row."""
    coef = beta.sum(axis=0)
    support = np.flatnonzero(coef)
    columns = np.arange(len(support))
    for k in range(owner.max() + 1):
        rows = np.flatnonzero(owner == k)
        known = None if score is None else score[rows]
        piece = np.ascontiguousarray(beta[:, rows])
        own = gram.select(rows, support)
        yield Part(own, select(dual, rows), piece, columns, coef[support], known)


def merged(gram, dual, beta, owner, score=None, **options):
    parts = list(split(gram, dual, beta, owner, score))
    return examine_parts(PicklingParts(parts), dual.total, convex=gram.kernel.positive, **options)


def size(dual, beta, score) -> float:
    """Of the terms that figures are made of."""
    boxes = np.abs(beta).sum() + (dual.upper - dual.lower).sum()
    return float(boxes * (np.abs(dual.target).max() + np.abs(score).max() + 1))
