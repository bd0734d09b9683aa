"""The store of records."""

from __future__ import annotations

import pytest

from support.experiments import answer
from widestreet._experiments.harness.records import NOISY, Store, answers, disturbed


def test_a_store_returns_what_was_put(tmp_path):
    store = Store(tmp_path)
    assert store.get("a") is None
    assert store.all() == []
    store.put("b", answer(seconds=2.0))
    store.put("a", answer(seconds=1.0))
    store.put("b", answer(seconds=3.0))
    assert store.get("b")["seconds"] == 3.0
    assert [record["seconds"] for record in store.all()] == [1.0, 3.0]


def test_a_record_that_cannot_be_written_leaves_the_old_one(tmp_path):
    store = Store(tmp_path)
    store.put("a", {"seconds": 1.0})
    with pytest.raises(TypeError):
        store.put("a", {"seconds": object()})
    assert store.all() == [{"seconds": 1.0}]


def test_answers_and_disturbed_records():
    quiet, loud = answer(others=0.5 * NOISY), answer(others=2 * NOISY)
    assert [disturbed(r) for r in (quiet, loud, answer(others=None))] == [False, True, False]
    assert answers([quiet, answer(status="failed"), loud]) == [quiet, loud]
