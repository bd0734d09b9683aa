"""A measurement: samples are certified over all rows, errors become records."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits

from support.experiments import miniature, raced
from widestreet._experiments.data import generated
from widestreet._experiments.harness import measure
from widestreet._experiments.harness.discovery import solvers
from widestreet._experiments.harness.measurement import AUTO, SKLEARN, Measurement, Method
from widestreet._experiments.papers import isvm
from widestreet._experiments.papers.catalogue import PAPERS
from widestreet._experiments.race.schedule import RACE
from widestreet._src import environment


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    """Few rows to predict, no real data, and one thread."""
    monkeypatch.delenv(environment.DATA, raising=False)
    monkeypatch.setattr(generated, "TEST_ROWS", 200)
    with threadpool_limits(1):
        yield


def test_short_fits_are_repeated():
    (found,) = measure.measure(RACE, [raced("null", repeats=3)], warm=True)
    assert len(found["all_seconds"]) == 3
    assert found["seconds"] == sorted(found["all_seconds"])[1]


@pytest.mark.parametrize("method", [AUTO, SKLEARN], ids=lambda m: m.name)
def test_both_libraries_are_certified(method):
    paper = miniature(PAPERS["randsvm"])
    (found,) = measure.measure(paper, [Measurement("twonorm1", 120, method)])
    assert found["status"] == "answer"
    assert found["violation"] <= 1e-3
    assert 0.8 < found["accuracy"] <= 1
    assert ("certificate" in found) is (method is AUTO)


def test_a_sample_is_certified_over_all_rows():
    paper = miniature(PAPERS["isvm"], 400)
    sample = isvm.sampling(0.1)
    first, again = measure.measure(paper, [Measurement("web", 400, sample, seed=3)] * 2)
    assert first["trained_on"] == 40
    assert first["violation"] > 1e-3  # of rows that it did not see
    assert "certificate" not in first
    assert first["n_sv"] == again["n_sv"]


def test_regression_has_an_error_and_a_correlation():
    paper = miniature(PAPERS["randsvm"])
    (found,) = measure.measure(paper, [Measurement("friedman-a", 200, AUTO)])
    assert found["mse"] > 0
    assert 0.5 < found["rho"] < 1
    assert "accuracy" not in found


def test_an_error_is_a_record_and_the_next_one_continues():
    paper = miniature(PAPERS["isvm"])
    wrong = Method("wrong", "wrong", "ISVM", {"sample_size": 0})
    found = list(measure.measure(paper, [Measurement("web", 120, m) for m in (wrong, AUTO)]))
    assert [r["status"] for r in found] == ["failed", "answer"]
    assert "sample_size" in found[0]["reason"]


def test_missing_data_are_a_record():
    (found,) = measure.measure(PAPERS["isvm"], [Measurement("kdd99", 100, AUTO)])
    assert found["status"] == "absent"
    assert environment.DATA in found["reason"]


def test_missing_solvers_and_rows_too_large_for_them_are_records(monkeypatch):
    (found,) = measure.measure(RACE, [raced("liquidSVM")])
    assert found["status"] == "absent"
    monkeypatch.setattr(measure, "LARGEST_DENSE", 10.0)
    monkeypatch.setattr(solvers()["null"], "takes_sparse", False, raising=False)
    (found,) = measure.measure(RACE, [raced("null")])
    assert "too large" in found["reason"]
