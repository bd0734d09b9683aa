"""A process killed at random times loses nothing that it had acknowledged."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from support.killed_process import content, killer, load, read
from support.stored_arrays import assert_same
from widestreet._src.persistence.journal import JournalError

ROUNDS = 12  # `make faults` has a thousand
AFRESH = 4  # rounds on one file: its beginning must be met as well

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
        before = len(read(path))
        acks = killed("append", path, *moment)
        assert acks == list(range(before, before + len(acks)))
        found = read(path)
        assert len(found) - before in (len(acks), len(acks) + 1)
        for number, record in enumerate(found):
            kind, header, arrays = content(number)
            assert (record.number, record.kind, record.header) == (number, kind, header)
            assert_same(record.arrays, arrays)


def test_the_journal_copied_alone(tmp_path, killed):
    """Without <name>-journal a copy may be unreadable after a kill, but it never lacks a record."""
    for i, moment in enumerate(moments(seed=3)):
        path, copy = str(tmp_path / f"{i}.journal"), str(tmp_path / f"{i}.copy")
        acks = killed("append", path, *moment)
        if os.path.exists(path):
            shutil.copy(path, copy)
        try:
            found = read(copy)
        except JournalError as error:
            assert f"copy {copy}-journal with it" in str(error)  # noqa: PT017 - rare
            shutil.copy(f"{path}-journal", f"{copy}-journal")
            found = read(copy)
        assert len(found) in (len(acks), len(acks) + 1)


def test_archives_with_their_journals(tmp_path, killed):
    """Kills in `archive.write` too: the two files always belong together."""
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
