"""A process killed at random times loses nothing that it had acknowledged."""

from __future__ import annotations

import os

import numpy as np
import pytest

from killing import content, killer, load, quiet
from stored import assert_same

ROUNDS = 30
AFRESH = 6  # rounds on one file: its beginning must be met as well

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")


@pytest.fixture(scope="module")
def killed():
    with killer() as function:
        yield function


def moments(seed: int):
    """When to kill: acknowledgements to wait for, and seconds after the last of them."""
    rng = np.random.default_rng(seed)
    for _ in range(ROUNDS):
        yield int(rng.integers(0, 5)), float(rng.uniform(0, 0.015))


def test_journalled_records(tmp_path, killed):
    for i, moment in enumerate(moments(seed=1)):
        path = str(tmp_path / f"{i // AFRESH}.journal")
        before = len(quiet(path)) if os.path.exists(path) else 0
        acks = killed("append", path, *moment)
        assert acks == list(range(before, before + len(acks)))
        found = quiet(path) if os.path.exists(path) else []
        assert len(found) - before in (len(acks), len(acks) + 1)
        for number, record in enumerate(found):
            kind, header, arrays = content(number)
            assert (record.sequence, record.kind, record.header) == (number, kind, header)
            assert_same(record.arrays, arrays)


def test_archives_with_their_journals(tmp_path, killed):
    """Kills in `archive.write` and `Journal.restart` too: the two files always belong together."""
    sums = np.cumsum([content(number)[2]["x"].sum() for number in range(200)])
    for i, moment in enumerate(moments(seed=2)):
        path = str(tmp_path / f"{i // AFRESH}.street")
        before = load(path)[0] if os.path.exists(path) else 0
        acks = killed("add_up", path, *moment)
        assert acks == list(range(before, before + len(acks)))
        if os.path.exists(path):
            count, total = load(path)
            assert count - before in (len(acks), len(acks) + 1)
            assert total == (sums[count - 1] if count else 0.0)
        else:
            assert acks == []
