"""Scores of a shard: changes are scanned alone, and give the scores from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.shard_lab import KERNELS, ShardLab, assert_scores
from widestreet import _core
from widestreet._src.kernels import several_scans
from widestreet._src.shards.score_updates import scores

pytestmark = pytest.mark.numeric


@given(
    seed=st.integers(0, 2**32 - 1), kernel=st.sampled_from([*KERNELS]),
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=10),
)  # fmt: skip
def test_scores_from_changes_are_scores_from_scratch(seed, kernel, counts):
    """Rows of many versions are brought up to date, each from what changed since its own."""
    lab = ShardLab("c_svc", kernel, seed, rows=50)
    for count in counts:
        lab.change(1.0, count)
        some = lab.rng.permutation(lab.rows)[: lab.rng.integers(0, lab.rows)]
        lab.bring(some)
        assert (lab.shard.memory.version[some] == lab.model.version).all()
        assert_scores(lab.shard.memory.score[some], lab.score[some], lab.coef)
    lab.bring(np.arange(lab.rows))
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)
    every = scores(lab.shard, lab.news, np.arange(lab.rows), True)
    assert_scores(lab.shard.memory.score, every, lab.coef)


@pytest.mark.parametrize("scans", [0, 1, 2])
def test_scores_and_versions_agree_after_a_stop(scans, monkeypatch):
    """Work that is stopped between two scans leaves no score with the version of another."""
    lab = ShardLab("c_svc", "rbf", seed=4)
    for a in (0, 40, 80):
        lab.change(1.0, 30)
        lab.bring(np.arange(a, a + 40))
    lab.change(1.0, 3)
    sums, done = several_scans._sums, []

    def stopped(*given):
        if len(done) == scans:
            raise KeyboardInterrupt
        done.append(given)
        return sums(*given)

    with monkeypatch.context() as patch:
        patch.setattr(several_scans, "_sums", stopped)
        patch.setattr(several_scans, "_calls", lambda some, *_: ([p] for p in some))
        with pytest.raises(KeyboardInterrupt):
            lab.bring(np.arange(lab.rows))
    lab.bring(np.arange(lab.rows))
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)


def test_only_what_changed_is_scanned():
    lab = ShardLab("c_svc", "rbf", seed=4)
    poll, every = lab.poll, np.arange(lab.rows)
    lab.change(1.0, 50)
    lab.bring(every)
    assert poll.kernel_values == lab.rows * 50
    lab.change(1.0, 3)
    lab.bring(every)
    assert poll.kernel_values == lab.rows * 53
    lab.bring(every)
    assert poll.kernel_values == lab.rows * 53
    lab.shard.memory.version[0] = _core.UNKNOWN
    lab.bring(every)
    assert poll.kernel_values == lab.rows * 53 + len(lab.model.ids)


@pytest.mark.parametrize("saved", [-1, 0, 1])
def test_a_change_is_scanned_if_that_saves_more_than_a_call_costs(saved, monkeypatch):
    lab = ShardLab("c_svc", "rbf", seed=4)
    every = np.arange(lab.rows)
    lab.change(1.0, 50)
    lab.bring(every)
    lab.change(1.0, 3)
    whole, part = lab.rows * len(lab.model.ids), lab.rows * 3
    monkeypatch.setattr(lab.shard.gram, "values_per_call", whole - part + saved)
    lab.bring(every)
    assert lab.poll.kernel_values == lab.rows * 50 + (part if saved < 0 else whole)
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)


@pytest.mark.parametrize("changes", [0, 1])
def test_scores_from_float32_are_computed_anew_in_float64(changes):
    lab = ShardLab("c_svc", "rbf", seed=5)
    lab.double = False
    lab.change(1.0, 60)
    lab.bring(np.arange(lab.rows))
    lab.shard.memory.score[:] += 0.01  # what float32 may be off by
    lab.double = True
    for _ in range(changes):
        lab.change(1.0, 3)
    lab.bring(np.arange(lab.rows))
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)
    lab.change(1.0, 3)
    lab.bring(np.arange(lab.rows))
    assert_scores(lab.shard.memory.score, lab.score, lab.coef)
