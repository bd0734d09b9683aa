"""The processors that other processes use."""

from __future__ import annotations

from widestreet._experiments.harness.noise import Noise


def test_noise_counts_processors():
    noise = Noise()
    assert noise.processors() is None  # too short to tell
    noise._begun -= 10
    assert noise.processors() is None or noise.processors() >= 0
