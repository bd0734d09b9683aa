"""The cost model beside a measurement, in miniature."""

from __future__ import annotations

from widestreet._experiments.studies import cluster
from widestreet._experiments.studies.cluster import HEAD, Cost


def test_more_workers_share_kernel_values_and_nothing_else():
    one, two = (Cost(2_000_000, workers, 1.8e9) for workers in (1, 2))
    assert one.kernel_values == two.kernel_values
    assert one.rounds == two.rounds
    assert one.seconds / 2 < two.seconds < one.seconds
    assert Cost(2_000_000, 1, 3.6e9).seconds < one.seconds


def test_rounds_and_passes_grow_when_the_support_vectors_outgrow_the_working_set():
    costs = [Cost(rows, 1, 1.8e9) for rows in (10**5, 10**6, 10**7, 10**8)]
    assert [cost.rounds for cost in costs] == sorted(cost.rounds for cost in costs)
    passes = [cost.kernel_values / cost.rows / cost.support for cost in costs]
    assert passes == sorted(passes)
    assert passes[0] > cluster._EXAMINATION


def test_a_line_has_predictions_beside_measurements(client, monkeypatch):
    from widestreet._src.dask import fit

    monkeypatch.setattr(fit, "_FEW_ROWS", 0)
    monkeypatch.setattr(cluster, "client", lambda workers: client)
    monkeypatch.setattr(cluster, "_SCANNED", (100, 20))
    assert cluster.core_speed() > 0
    found = dict(zip(HEAD, cluster.line(400, 2, 1.8e9), strict=True))
    assert found["rows"] == "400"
    assert found["workers"] == "2"
    assert found["status"] == "optimal"
    assert float(found["seconds, predicted"]) > 0
    assert 0 < int(found["support vectors, measured"]) <= 400
    assert int(found["rounds, measured"]) >= 1
