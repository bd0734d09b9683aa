"""Measurements: their JSON form, and which records answer them."""

from __future__ import annotations

import json
from dataclasses import replace

from support.experiments import answer, raced
from widestreet._experiments.harness.measurement import AUTO, SKLEARN, Measurement, from_facts
from widestreet._experiments.papers import isvm
from widestreet.strategies import ISVM


def test_a_measurement_survives_json():
    one = Measurement("kdd99", 100, isvm.stopping(0.1), 3, 60.0, 2)
    assert from_facts(json.loads(json.dumps(one.facts))) == one


def test_names_tell_measurements_apart():
    one = raced()
    others = [replace(one, **{key: 7}) for key in ("rows", "seed", "threads", "tol")]
    assert len({other.name for other in (one, *others)}) == 5


def test_what_settles_a_measurement():
    one = Measurement("p", 10, AUTO, limit=60.0)
    assert not one.is_settled(None)
    assert one.is_settled(answer(one))
    assert not one.is_settled(answer(replace(one, threads=7)))
    other = replace(one, method=replace(AUTO, parameters={"hidden": 1}))
    assert not other.is_settled(answer(one))
    assert not one.is_settled(answer(one, status="failed"))
    assert not one.is_settled(answer(one, version="0.0.0"))


def test_a_record_without_an_answer_settles_what_has_no_more_time():
    one = Measurement("p", 10, AUTO, limit=60.0)
    more = replace(one, limit=600.0)
    for late in (answer(one, status="timeout"), answer(one, certificate="time_limit")):
        assert one.is_settled(late)
        assert not more.is_settled(late)
    assert more.is_settled(answer(one))


def test_only_a_strategy_has_options():
    assert SKLEARN.options(3, 60.0) == {}
    chosen = isvm.ISVM.options(3, 60.0)
    assert isinstance(chosen["strategy"], ISVM)
    assert (chosen["random_state"], chosen["max_time"]) == (3, 60.0)
