"""Forecasts of the seconds of a certificate, from times measured in the fit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import TOL
from support.clocks import SimulatedClock
from support.fitting import build_dual
from support.ports import shard_set
from support.shard_sets import shards_at_a_point
from widestreet._src.engines import forecast as module
from widestreet._src.engines.budget import Budget, OutOfBudget
from widestreet._src.engines.forecast import SAMPLED_ROWS, Forecast
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF, Linear
from widestreet._src.kernels.poll import Poll
from widestreet._src.problems.goal import Goal
from widestreet._src.rows import as_rows
from widestreet._src.shards.point import Point
from widestreet._src.shards.port import LocalPort
from widestreet._src.shards.shard_examination import examine_shards


@pytest.fixture
def shards(monkeypatch):
    """Shards of 90 rows whose kernel values take a microsecond."""
    shards, _, _ = shards_at_a_point(1, "local", np.random.default_rng(0))
    monkeypatch.setattr(type(shards), "seconds_per_value", 1e-6)
    shards.start()  # surveys in float32 again
    return shards


def test_a_forecast_grows_with_support_vectors_and_rows_in_doubt(shards):
    forecast = Forecast()
    few, many = forecast.seconds(shards, 10, 0.1), forecast.seconds(shards, 100, 0.1)
    assert few < many
    assert forecast.seconds(shards, 100, 0.0) < many < forecast.seconds(shards, 100, 0.3)
    assert forecast.seconds(shards, 100, 0.5) == forecast.seconds(shards, 100, 1.0)
    assert many >= 90 * 100 * 1e-6


@pytest.mark.in_process("a coordinator without the rows of the shards counts kernel values")
def test_an_interpolation_does_not_take_the_time_of_its_kernel_values(rng, monkeypatch):
    X = rng.uniform(size=(40_000, 2))
    dual = build_dual("c_svc", np.sign(X[:, 0] - 0.5), C=1.0, nu=0.4)
    shards = shard_set(Gram(RBF(0.1), as_rows(X)), dual, parts=1, poll=Poll(), connect=LocalPort)
    monkeypatch.setattr(type(shards), "seconds_per_value", 1e-6)
    direct = 40_000 * 5_000 * 1e-6
    assert Forecast().seconds(shards, 5_000, 0.0) < 0.5 * direct
    assert Forecast().seconds(shards, 5_000, 1.0) > direct  # in float64 after all


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_linear_kernel_needs_one_vector_for_all_scores(rng, monkeypatch, form):
    X = rng.standard_normal((40_000, 3))
    dual = build_dual("c_svc", np.sign(X[:, 0]), C=1.0, nu=0.4)
    gram = Gram(Linear(), as_rows(form(X)))
    shards = shard_set(gram, dual, parts=1, poll=Poll(), connect=LocalPort)
    monkeypatch.setattr(type(shards), "seconds_per_value", 1e-6)
    few, many = (Forecast().seconds(shards, support) for support in (10, 40_000))
    assert 40_000 * module._SECONDS_PER_ROW < few < many < 2.0 * few


def test_a_first_guess_ends_no_fit(shards, monkeypatch):
    """The first kernel values may take many times as long as later ones."""
    forecast, clock = Forecast(), SimulatedClock(monkeypatch)
    budget = Budget(10.0)
    clock.wait(0.1)
    forecast.keep_back(shards, budget, 10)
    monkeypatch.setattr(type(shards), "seconds_per_value", 1.0)
    forecast.keep_back(shards, budget, 90)
    budget.look_at_clock()
    clock.wait(8.0)
    forecast.keep_back(shards, budget, 90)
    budget.look_at_clock()
    forecast.exact = 1.0  # a measurement
    forecast.keep_back(shards, budget, 90)
    with pytest.raises(OutOfBudget):
        budget.look_at_clock()


def test_float64_surveys_have_measured_float64(shards):
    before = Forecast().seconds(shards, 100, 1.0)
    shards.use_double()
    assert Forecast().seconds(shards, 100, 1.0) < before


def test_an_examination_replaces_the_count(shards, monkeypatch):
    monkeypatch.setattr(module, "_LEAST_VALUES", 1)
    forecast = Forecast()
    forecast.learn(2.0, 90, 100)
    assert forecast.seconds(shards, 100) == pytest.approx(module._SAFETY * 2.0, rel=TOL.twin)
    more = 4.0 - 90 * module._SECONDS_PER_ROW  # the sums over rows do not double
    assert forecast.seconds(shards, 200) == pytest.approx(module._SAFETY * more, rel=TOL.twin)
    few = forecast.seconds(shards, 200, changed=10)  # coefficients, since that examination
    assert few < forecast.seconds(shards, 100) == forecast.seconds(shards, 100, changed=500)
    forecast.learn(0.1, 90, 100)  # one that used scores of the first
    assert forecast.seconds(shards, 100) == pytest.approx(module._SAFETY * 2.0, rel=TOL.twin)


def test_a_short_examination_says_nothing(shards):
    forecast = Forecast()
    before = forecast.seconds(shards, 100)
    forecast.learn(2.0, 90, 100)
    assert forecast.seconds(shards, 100) == before


def test_an_examination_without_support_vectors(shards):
    forecast = Forecast()
    forecast.learn(0.0, 90, 0)
    assert forecast.measured == 0.0
    assert forecast.seconds(shards, 0) > 0


def test_a_sample_does_not_depend_on_the_number_of_rows(shards):
    forecast = Forecast()
    one = forecast.sample_seconds(shards, 100, rows=1)
    assert forecast.sample_seconds(shards, 100) == pytest.approx(SAMPLED_ROWS * one)


def test_a_probe_measures_float64_once_for_so_many_support_vectors(shards, monkeypatch):
    SimulatedClock(monkeypatch)
    monkeypatch.setattr(module, "_PROBED_VALUES", 500)
    monkeypatch.setattr(module, "_LEAST_VALUES", 1)
    forecast = Forecast()
    forecast.probe(shards)
    assert forecast.exact == 0.0  # there are no support vectors
    ids = np.arange(10)
    expansion = shards.news.expansion.published(ids, np.ones(10), np.zeros(1), np.inf)
    shards.publish(expansion, Point(ids, np.ones((1, 10))))
    before = shards.poll.kernel_values
    forecast.probe(shards)
    assert shards.poll.kernel_values - before == 500
    assert forecast.exact > 0
    forecast.probe(shards)
    assert shards.poll.kernel_values - before == 500
    ids = np.arange(20)
    expansion = shards.news.expansion.published(ids, np.ones(20), np.zeros(1), np.inf)
    shards.publish(expansion, Point(ids, np.ones((1, 20))))
    forecast.probe(shards)
    assert shards.poll.kernel_values - before == 1000
    forecast.learn(1.0, 90, 10)
    forecast.probed = 0
    forecast.probe(shards)
    assert shards.poll.kernel_values - before == 1000


def test_a_longer_measurement_follows_if_there_is_time(shards, monkeypatch):
    ids = np.arange(10)
    expansion = shards.news.expansion.published(ids, np.ones(10), np.zeros(1), np.inf)
    shards.publish(expansion, Point(ids, np.ones((1, 10))))
    for most, values in ((0.0, 50), (np.inf, 50 + 500)):
        monkeypatch.setattr(module, "_PROBED_VALUES", 50)
        before, forecast = shards.poll.kernel_values, Forecast()
        forecast.probe(shards, most)
        assert shards.poll.kernel_values - before == values
        assert forecast.exact > 0
    monkeypatch.setattr(module, "_PROBED_VALUES", 200)  # the longer one would take all rows
    before = shards.poll.kernel_values
    Forecast().probe(shards, np.inf)
    assert shards.poll.kernel_values - before == 200


@pytest.mark.parametrize(
    ("overhead", "counts"), [(1e-6, [50, 500]), (1e-2, [50, 500, 5000, 50000])]
)
def test_measurements_become_longer_until_an_overhead_does_not_matter(
    overhead, counts, shards, monkeypatch
):
    """A device launches programs for long before it computes a first value."""
    monkeypatch.setattr(module, "_PROBED_VALUES", 50)
    asked = []

    def measured(self, shards, support, values, limit):
        asked.append(values)
        return 1e-6 + overhead / values

    monkeypatch.setattr(Forecast, "_measured", measured)
    ids = np.arange(10)
    expansion = shards.news.expansion.published(ids, np.ones(10), np.zeros(1), np.inf)
    shards.publish(expansion, Point(ids, np.ones((1, 10))))
    forecast = Forecast()
    forecast.probe(shards, 100.0)
    assert asked == counts
    assert forecast.exact == pytest.approx(1e-6 + overhead / counts[-1])


def test_kernel_values_of_an_interrupted_probe_are_counted(shards, monkeypatch):
    def interrupted(self, shards, limit, *, now=False):
        shards.poll.kernel_values += 500
        raise KeyboardInterrupt

    monkeypatch.setattr(Forecast, "probe", interrupted)
    outer, before = shards.poll, shards.poll.kernel_values
    with pytest.raises(KeyboardInterrupt):
        Forecast().measure(shards, Budget(max_time=100.0))
    assert shards.poll is outer
    assert outer.kernel_values == before + 500


def test_forecasts_follow_the_pace_of_the_machine(shards, monkeypatch):
    """Forecasts from the time of an earlier examination are scaled by the measured pace as well."""
    monkeypatch.setattr(module, "_PROBED_VALUES", 500)
    monkeypatch.setattr(module, "_LEAST_VALUES", 1)
    clock, pace = SimulatedClock(monkeypatch), [1e-3]
    scores = type(shards).scores

    def slow(self, ids):
        clock.wait(pace[0] * len(ids) * 10)
        return scores(self, ids)

    monkeypatch.setattr(type(shards), "scores", slow)
    ids = np.arange(10)
    expansion = shards.news.expansion.published(ids, np.ones(10), np.zeros(1), np.inf)
    shards.publish(expansion, Point(ids, np.ones((1, 10))))
    forecast, limit = Forecast(), 1e5
    forecast.probe(shards, limit)
    assert forecast.exact == pytest.approx(1e-3, rel=0.01)
    forecast.learn(10.0, 90, 100)
    before = forecast.seconds(shards, 100)
    pace[0] = 5e-3
    forecast.probe(shards, limit)
    assert forecast.seconds(shards, 100) == before  # measured a moment ago
    clock.wait(0.06 * limit)
    forecast.probe(shards, limit)
    assert forecast.exact == pytest.approx(5e-3, rel=0.01)
    assert forecast.seconds(shards, 100) == pytest.approx(5 * before, rel=0.01)
    pace[0] = 1e-3
    forecast.probe(shards, limit, now=True)
    assert forecast.seconds(shards, 100) == pytest.approx(before, rel=0.01)
    clock.wait(0.06 * limit)
    pace[0] = 1.2e-3  # by chance
    forecast.probe(shards, limit)
    assert forecast.seconds(shards, 100) == pytest.approx(before, rel=0.01)


def test_scores_that_an_examination_has_computed_measure_nothing(shards, monkeypatch):
    monkeypatch.setattr(module, "_PROBED_VALUES", 500)
    ids = np.arange(10)
    expansion = shards.news.expansion.published(ids, np.ones(10), np.zeros(1), np.inf)
    shards.publish(expansion, Point(ids, np.ones((1, 10))))
    before, forecast = Forecast(), Forecast()
    before.probe(shards)
    examine_shards(shards, shards.news.point, Goal(1e-3))
    forecast.probe(shards, now=True)
    assert before.exact > 0
    assert forecast.exact == 0.0


def test_few_rows_and_rows_elsewhere_are_not_probed(monkeypatch):
    forecast = Forecast()
    for port, values in (("local", 10**9), ("far", 500), ("stored", 500)):
        monkeypatch.setattr(module, "_PROBED_VALUES", values)
        shards, _, _ = shards_at_a_point(2, port, np.random.default_rng(0))
        forecast.probe(shards)
        assert forecast.exact == 0.0
