"""The parallel randomised SVM, literally.

Row x stands in a multiset u(x) times, u(x) = 2^level(x), at first once; u(A) is the sum over A and
delta the combinatorial dimension. Each round

1) deals r copies each to C sites, drawn without replacement, site by site; equal copies are merged,
2) solves each site's rows: theta_p,
3) finds the rows V_p outside of site p that violate theta_p; if there are none, theta_p is optimal,
4) doubles u(x) for x in V_p if those copies of V_p that no site q < p holds weigh at most
   u(X) / (3 delta). All sites compare with the weights at the beginning of the round.

RSVM is the same with one site. Copies are numbered by a running sum of int64, so this version ends
before 2^63 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.restricted import Point, solve, violators


@dataclass
class Site:
    """One of the C sites, in one round."""

    rows: np.ndarray
    point: Point
    V: np.ndarray
    success: bool = False


@dataclass
class Round:
    """One round; `level` is that after it."""

    weight: int
    copies: np.ndarray
    sites: list[Site]
    level: np.ndarray

    @property
    def best(self) -> int:
        """The first site among those of fewest violators."""
        return min(range(len(self.sites)), key=lambda p: len(self.sites[p].V))


def prsvm(
    K, dual: Any, rng: np.random.Generator, tol: float, *,
    sites: int, r: int, delta: float, max_rounds: int,
) -> list[Round]:  # fmt: skip
    """All rounds; a row violates if it does so by more than tol."""
    n = len(K)
    level = np.zeros(n, dtype=np.int64)
    rounds: list[Round] = []
    for _ in range(max_rounds):
        u = 2**level
        U = int(u.sum())
        tickets = rng.choice(U, min(sites * r, U), replace=False)
        owner = np.searchsorted(np.cumsum(u), tickets, side="right")
        copies = np.zeros((sites, n), dtype=np.int64)
        for i, x in enumerate(owner):
            copies[i // r, x] += 1
        dealt = [_site(K, dual, np.flatnonzero(line), tol) for line in copies if line.any()]
        level = level.copy()
        rounds.append(Round(U, copies, dealt, level))
        if any(len(site.V) == 0 for site in dealt):
            break
        for p, site in enumerate(dealt):
            left = u - copies[:p].sum(axis=0)
            site.success = bool(left[site.V].sum() <= U / (3 * delta))
            level[site.V] += site.success
    return rounds


def _site(K, dual: Any, X, tol: float) -> Site:
    theta = solve(K, dual, X)
    return Site(X, theta, violators(K, dual, theta, tol, X))
