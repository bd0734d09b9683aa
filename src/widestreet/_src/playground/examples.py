"""Points with which the boards of the playground begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from widestreet._src.arrays import Floats, Ints

WIDTH, HEIGHT = 1.5, 1.0  # the plane is [-WIDTH, WIDTH] x [-HEIGHT, HEIGHT]
DIGITS = 4  # of coordinates

Places: TypeAlias = tuple[Floats, Ints]  # points of shape (n, 2), and their labels


def two_moons(rng: np.random.Generator) -> Places:
    """Return two half circles that reach into each other, with noise."""
    n = 40
    turn, noise = rng.uniform(0.0, np.pi, 2 * n), rng.normal(scale=0.09, size=(2 * n, 2))
    label = np.arange(2 * n) % 2
    arc = np.where(label == 0, turn, -turn)
    centre = np.where(label[:, None] == 0, (-0.35, -0.25), (0.35, 0.25))
    return centre + 0.7 * np.column_stack([np.cos(arc), np.sin(arc)]) + noise, label


def two_clouds(rng: np.random.Generator) -> Places:
    """Return two normal distributions that overlap."""
    label = np.arange(60) % 2
    centre = np.where(label[:, None] == 0, (-0.45, -0.2), (0.45, 0.2))
    return centre + rng.normal(scale=0.28, size=(60, 2)), label


def checkerboard(rng: np.random.Generator) -> Places:
    """Return points on a board of six fields."""
    points = rng.uniform((-1.35, -0.9), (1.35, 0.9), (120, 2))
    fields = np.floor((points[:, 0] + 1.35) / 0.9) + np.floor((points[:, 1] + 0.9) / 0.9)
    return points, (fields % 2).astype(np.int64)


def noisy_sine(rng: np.random.Generator) -> Places:
    """Return a sine with noise and three outliers."""
    x = np.sort(rng.uniform(-1.4, 1.4, 50))
    y = 0.5 * np.sin(3.2 * x) + rng.normal(scale=0.07, size=50)
    y[[8, 24, 40]] += (0.55, -0.6, 0.5)
    return np.column_stack([x, y]), np.zeros(50, dtype=np.int64)


def noisy_step(rng: np.random.Generator) -> Places:
    """Return a step with noise."""
    x = np.sort(rng.uniform(-1.4, 1.4, 50))
    y = np.where(x < 0, -0.4, 0.4) + rng.normal(scale=0.06, size=50)
    return np.column_stack([x, y]), np.zeros(50, dtype=np.int64)


def cloud_with_outliers(rng: np.random.Generator) -> Places:
    """Return a normal distribution, and uniform points."""
    cloud = rng.normal((0.0, 0.0), (0.4, 0.25), (60, 2))
    others = rng.uniform((-1.3, -0.9), (1.3, 0.9), (8, 2))
    return np.vstack([cloud, others]), np.zeros(68, dtype=np.int64)


def ring(rng: np.random.Generator) -> Places:
    """Return points near an ellipse."""
    turn, noise = rng.uniform(0.0, 2 * np.pi, 70), rng.normal(scale=0.05, size=(70, 2))
    return np.column_stack([np.cos(turn), 0.6 * np.sin(turn)]) + noise, np.zeros(70, dtype=np.int64)


_LABELLED: dict[str, Callable[[np.random.Generator], Places]] = {
    "two moons": two_moons,
    "two clouds": two_clouds,
    "checkerboard": checkerboard,
}

# Examples of each tab; the first one is its start.
EXAMPLES: dict[str, dict[str, Callable[[np.random.Generator], Places]]] = {
    "classification": _LABELLED,
    "regression": {"noisy sine": noisy_sine, "noisy step": noisy_step},
    "one-class": {"cloud with outliers": cloud_with_outliers, "ring": ring},
    "ensemble": _LABELLED,
}


def example(tab: str, name: str) -> list[tuple[float, float, int]]:
    """Return the points of an example: coordinates and label, always the same."""
    points, labels = EXAMPLES[tab][name](np.random.default_rng(0))
    places = np.clip(points, (-WIDTH, -HEIGHT), (WIDTH, HEIGHT)).round(DIGITS)
    return [(float(x), float(y), int(c)) for (x, y), c in zip(places, labels, strict=True)]
