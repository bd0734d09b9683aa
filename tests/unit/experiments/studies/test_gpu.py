"""The study of a GPU in miniature, on a device in NumPy."""

from __future__ import annotations

import pytest

from support.devices import PlainDevice, use
from widestreet._experiments.studies import gpu
from widestreet._src.training import pairs_on_device


class Measured(PlainDevice):
    """A device whose memory is that of the host, and not counted."""

    def to(self, array):
        return array

    def peak(self):
        return 0


@pytest.fixture(autouse=True)
def small(monkeypatch, rng):
    device = use(monkeypatch, Measured())
    forest = rng.normal(size=(300, 4)), rng.integers(1, 8, 300)
    monkeypatch.setattr(gpu.covtype, "scaled", lambda: forest)
    monkeypatch.setattr(gpu, "gpu", lambda: device)
    jobs = {name: (name, 300, options) for name, _, options in gpu.JOBS.values()}
    large = {name: (name, 300, options) for name, _, options in gpu.LARGE.values()}
    monkeypatch.setattr(gpu, "LARGE", large)
    options = {"gamma": 0.1, "C": 1.0}
    monkeypatch.setattr(gpu, "CLASSES", {"clouds": ("clouds", (3, 40, 3), options)})
    monkeypatch.setattr(pairs_on_device, "_LEAST_COST", 0.0)
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


def test_models_of_several_classes_agree():
    lines = cells(gpu.classes(1))
    assert [line[:2] for line in lines] == [["clouds", "cuda"], ["clouds", "cpu"]]
    for line in lines:
        assert line[5] == "3 of 3"
        assert float(line[6]) <= 1e-3
        assert float(line[10]) < 1e-4
        assert float(line[11]) < 0.1


def test_certificates_of_both_agree():
    [[problems, optimal, objective, violation]] = cells(gpu.certificates(1))
    assert problems == optimal == "40"
    assert float(objective) < 1e-9
    assert float(violation) < 1e-7


def test_scans_are_within_their_bounds():
    for line in cells(gpu.scans(1)):
        assert float(line[5]) <= float(line[6])
