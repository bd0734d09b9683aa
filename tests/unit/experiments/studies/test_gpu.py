"""The study of a GPU in miniature, on a device in NumPy."""

from __future__ import annotations

import pytest

from support.devices import PlainDevice, use
from widestreet._experiments.studies import gpu


@pytest.fixture(autouse=True)
def small(monkeypatch):
    device = use(monkeypatch, PlainDevice())
    monkeypatch.setattr(gpu, "gpu", lambda: device)
    jobs = {name: (name, 300, options) for name, _, options in gpu.JOBS.values()}
    large = {name: (name, 300, options) for name, _, options in gpu.LARGE.values()}
    monkeypatch.setattr(gpu, "LARGE", large)
    for name, value in (("JOBS", jobs), ("REPEATS", 1), ("SCANNED", 200), ("VECTORS", 64)):
        monkeypatch.setattr(gpu, name, value)
    monkeypatch.setattr(gpu, "SMALL", 100)


def cells(table):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


@pytest.mark.parametrize("part", ["fits", "large", "cpu"])
def test_every_fit_is_certified(part):
    lines = cells(gpu.PARTS[part](2))
    assert {line[0] for line in lines} == set(gpu.LARGE if part == "large" else gpu.JOBS)
    assert {line[4] for line in lines} == {"optimal"}


def test_certificates_of_both_agree():
    [[problems, optimal, objective, violation]] = cells(gpu.certificates(1))
    assert problems == optimal == "40"
    assert float(objective) < 1e-9
    assert float(violation) < 1e-7


def test_scans_are_within_their_bounds():
    for line in cells(gpu.scans(1)):
        assert float(line[5]) <= float(line[6])
