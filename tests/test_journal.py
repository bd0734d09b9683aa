"""Journals: whole records, in order, whatever happened to the file or to the process."""

from __future__ import annotations

import errno
import os
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

import journals
from journals import BASE, append, ends, failing, numbers
from stored import ARRAYS, HEADERS, assert_same, put, some_arrays
from widestreet._src.persistence.journal import (
    Journal,
    JournalError,
    JournalWarning,
    reading,
    records,
    writing,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.journal"


@pytest.fixture
def quick(monkeypatch):
    """Nobody waits for the disk."""
    monkeypatch.setattr(writing, "sync", lambda descriptor: None)
    monkeypatch.setattr(writing, "sync_directory", lambda path: None)


# -- round trips -----------------------------------------------------------------------------------


@given(written=st.lists(st.tuples(st.text(), HEADERS, ARRAYS), max_size=3))
def test_what_is_appended_is_read(written):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.journal")
        with Journal.create(path, BASE) as journal:
            for i, entry in enumerate(written):
                assert journal.append(*entry) == i
            assert journal.size == os.path.getsize(path)
        found = list(records(path, BASE))
    assert len(found) == len(written)
    for i, (record, (kind, header, arrays)) in enumerate(zip(found, written, strict=True)):
        assert (record.sequence, record.kind, record.header) == (i, kind, header)
        assert_same(record.arrays, arrays)


def test_some_arrays_of_each_kind(path):
    with Journal.create(path, BASE) as journal:
        journal.append("all", {}, some_arrays())
    (record,) = records(path)
    assert_same(record.arrays, some_arrays())


def test_a_journal_is_continued(path):
    for i in range(3):
        with Journal.resume(path, str(BASE)) as journal:
            assert (journal.base, journal.first, journal.sequence) == (BASE, 0, 2 * i)
            append(journal, 2)
            assert repr(journal).endswith(f"sequence={2 * i + 2})")
    assert numbers(path, BASE) == list(range(6))


def test_a_record_is_one_write_and_one_sync(path, monkeypatch):
    calls = []
    with Journal.create(path, BASE) as journal:
        for name in ("_write", "sync"):
            call = getattr(writing, name)

            def watched(*args, name=name, call=call):
                calls.append((name, os.path.getsize(path)))
                return call(*args)

            monkeypatch.setattr(writing, name, watched)
        before = journal.size
        append(journal)
        assert calls == [("_write", before), ("sync", journal.size)]


def test_threads_take_turns(path, quick):
    with Journal.create(path, BASE) as journal, ThreadPoolExecutor(4) as pool:
        given_out = list(pool.map(lambda i: journal.append("add", {"i": i}, {}), range(100)))
    assert sorted(given_out) == list(range(100))
    assert [r.header["i"] for r in records(path)] == [given_out.index(n) for n in range(100)]


def test_what_cannot_be_stored_is_not_appended(path):
    with Journal.create(path, BASE) as journal:
        for header, arrays in (({1: 2}, {}), ({}, {"x": [1]})):
            with pytest.raises(TypeError):
                journal.append("add", header, arrays)
        append(journal)
    assert numbers(path) == [0]


# -- torn ends -------------------------------------------------------------------------------------


def test_cut_at_every_byte_of_the_last_record(path, quick):
    *_, before, end = ends(path)
    content = path.read_bytes()
    assert end == len(content)
    for size in range(before, end):
        put(path, content[:size])
        if size == before:
            assert numbers(path) == [0, 1]
            continue
        dropped = rf"{size - before} bytes, from record 2 on, are dropped"
        with pytest.warns(JournalWarning, match=dropped) as caught:
            assert numbers(path) == [0, 1]
        assert [w.filename for w in caught] == [journals.__file__]
        with pytest.warns(JournalWarning, match=dropped) as caught:
            journal = Journal(path)
        assert [w.filename for w in caught] == [__file__]
        assert path.stat().st_size == journal.size == before
        append(journal)
        journal.close()
        assert path.read_bytes() == content


def test_cut_at_every_byte_of_the_head(path, quick):
    ends(path, 0)
    content = path.read_bytes()
    for size in range(len(content)):
        for rest in (content[:size], bytes(size + 1)):  # what a loss of power leaves may be zeros
            put(path, rest)
            with pytest.warns(JournalWarning, match=f"{len(rest)} bytes, from record 0 on"):
                assert numbers(path, BASE) == []
            with pytest.raises(JournalError, match=r"being created.*Journal\.create"):
                Journal(path, BASE)
            Journal.create(path, BASE).close()
            assert path.read_bytes() == content


@pytest.mark.parametrize("tail", [bytes(1), bytes(5000), b"\xf5rec" * 50, os.urandom(3000)])
def test_rubbish_after_the_last_record(path, tail, monkeypatch):
    monkeypatch.setattr(reading, "_CHUNK", 64)
    ends(path)
    with open(path, "ab") as file:
        file.write(tail)
    with pytest.warns(JournalWarning, match=f"{len(tail):,} bytes, from record 3 on"):
        assert numbers(path) == [0, 1, 2]
    with pytest.warns(JournalWarning), Journal(path) as journal:
        append(journal)
    assert numbers(path) == [0, 1, 2, 3]


def test_whoever_makes_warnings_errors_loses_nothing(path):
    ends(path)
    with open(path, "ab") as file:
        file.write(b"torn")
    before = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(JournalWarning):
            Journal(path)
    assert path.read_bytes() == before
    with pytest.warns(JournalWarning):
        Journal(path).close()  # not locked


# -- damage ----------------------------------------------------------------------------------------


def test_flipped_bits_at_every_byte(path, rng):
    """In the head and before the last record an error, in the last record a warning."""
    head, *_, before, end = ends(path)
    content = path.read_bytes()
    for at in range(end):
        flipped = bytearray(content)
        flipped[at] ^= 1 << rng.integers(8)
        put(path, flipped)
        if at < before:
            message = r"model\.journal" if at < head else "is damaged, but others follow it"
            with pytest.raises(JournalError, match=message):
                numbers(path)
        else:
            with pytest.warns(JournalWarning, match=f"{end - before} bytes, from record 2 on"):
                assert numbers(path) == [0, 1]


def test_damage_in_the_middle_stops_writers_too(path):
    head, first, *_ = ends(path)
    content = bytearray(path.read_bytes())
    content[first - 1] ^= 1
    path.write_bytes(content)
    message = rf"record 0 of .*model\.journal, at byte {head}, .*from byte {first}.*from a copy"
    with pytest.raises(JournalError, match=message):
        Journal(path)
    assert path.read_bytes() == content


def test_damage_followed_by_a_torn_record(path):
    """No intact record follows, but the damaged one was acknowledged before the torn one began."""
    *_, second, _ = ends(path)
    content = bytearray(path.read_bytes())
    content[second - 1] ^= 1
    path.write_bytes(content[:-1])
    with pytest.raises(JournalError, match=r"record 1 of .* is damaged, but others follow it"):
        numbers(path)


def test_records_in_another_order(path):
    head, first, second, _ = ends(path)
    content = path.read_bytes()
    path.write_bytes(content[:head] + content[first:second] + content[head:first])
    with pytest.raises(JournalError, match=r"record 1 stands where record 0 belongs"):
        numbers(path)


def test_a_record_of_another_journal_does_not_fit(path, tmp_path):
    head, first, *_ = ends(path)
    other = tmp_path / "other.journal"
    Journal.create(other, uuid4()).close()
    with open(other, "ab") as file:
        file.write(path.read_bytes()[head:first])
    with pytest.warns(JournalWarning, match=f"{first - head} bytes, from record 0 on"):
        assert numbers(other) == []


@pytest.mark.parametrize("content", [b"x" * 100, b"x", bytes(100), b"PK\x03\x04"])
def test_a_file_that_is_no_journal(path, content):
    path.write_bytes(content)
    for use in (numbers, Journal):
        with pytest.raises(JournalError, match=r"model\.journal is not a journal.*path of one"):
            use(path)
    for use in (Journal.create, Journal.resume):
        with pytest.raises((FileExistsError, JournalError), match=r"model\.journal"):
            use(path, BASE)
    assert path.read_bytes() == content


def test_a_later_version(path, monkeypatch):
    monkeypatch.setattr(reading, "VERSION", 2)
    ends(path)
    monkeypatch.undo()
    for use in (numbers, Journal):
        with pytest.raises(JournalError, match=r"model\.journal has version 2.*update widestreet"):
            use(path)


@pytest.mark.parametrize("payload", [b"", b"\0" * 8, b"\2" + b"\0" * 7 + b"{}", b"\xff" * 9])
def test_a_whole_record_that_says_nothing(path, payload):
    ends(path, 0)
    with open(path, "ab") as file:
        file.write(reading.frame(0, payload, reading.Head(BASE, 0).seed))
    with pytest.raises(JournalError, match=r"record 0 of .* is whole but cannot be understood"):
        numbers(path)


# -- the archive that is continued -----------------------------------------------------------------


def test_the_wrong_base(path):
    ends(path)
    other = uuid4()
    for use in (numbers, Journal, Journal.resume):
        with pytest.raises(JournalError, match=rf"continues the archive {BASE}, not {other}"):
            use(path, other)
    with pytest.raises(ValueError, match=r"base must be a UUID, .* got 'mine'"):
        Journal.create(path.with_name("other"), "mine")


def test_records_that_the_archive_contains_are_left_out(path):
    ends(path)
    for start in range(5):
        assert numbers(path, BASE, start) == list(range(start, 3))
    Journal(path, BASE, 3).close()
    with pytest.raises(JournalError, match=r"ends before record 3.*contains 4.*first=4"):
        Journal(path, BASE, 4)  # its next record would be left out when the archive is loaded


def test_a_restart_keeps_counting(path):
    with Journal.create(path, BASE, first=5) as journal:
        append(journal, 2)
        grown = journal.size
        journal.restart()
        assert (journal.first, journal.sequence) == (7, 7)
        assert journal.size == path.stat().st_size < grown
        append(journal, 2)
        assert numbers(path, BASE, 7) == [7, 8]
    with Journal(path, BASE, 8) as journal:
        append(journal)
    assert numbers(path) == [7, 8, 9]
    for use in (numbers, Journal):
        with pytest.raises(JournalError, match=r"begins with record 7.*contains only 6"):
            use(path, BASE, 6)
    assert os.listdir(path.parent) == [path.name]


def test_a_restart_that_fails_changes_nothing(path, monkeypatch):
    with Journal.create(path, BASE) as journal:
        append(journal)
        with monkeypatch.context() as broken:
            broken.setattr(os, "replace", failing(OSError(errno.EACCES, "no")))
            with pytest.raises(OSError, match="no"):
                journal.restart()
        append(journal)
        journal.restart()
        append(journal)
    assert numbers(path) == [2]
    Journal(path).close()  # no lock is left
