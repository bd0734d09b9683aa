"""Journals: complete records, in order, whatever happened to the file, the disk or the process."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import journals
from support.journals import append, begin, numbers
from support.stored_arrays import ARRAYS, HEADERS, assert_same, put, some_arrays
from widestreet._src.persistence import journal as module
from widestreet._src.persistence.journal import Journal, JournalError, JournalWarning, is_journal

POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
OTHER = "5f0c2f3e-5d6b-4c9a-9a59-0c3f5c1c7a11"  # a base
MARK = np.float64(1234.56789)  # a value to be searched for in files


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.journal"


def change(path, *statements: str) -> None:
    """Change a journal by SQL, as its writer never does."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def other_process(path, expression: str) -> str:
    """What an expression of the open journal `j` is in another process, or the error there."""
    program = (
        "import sys; from widestreet._src.persistence.journal import Journal\n"
        f"j = Journal(sys.argv[1]); print({expression})"
    )
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout or done.stderr


# -- round trips -----------------------------------------------------------------------------------


@given(written=st.lists(st.tuples(st.text(), HEADERS, ARRAYS), max_size=3))
def test_what_is_appended_is_read(written):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.journal")
        with closing(Journal(path, create=True)) as journal:
            for i, entry in enumerate(written):
                assert journal.append(*entry) == i
        with closing(Journal(path, journal.base)) as journal:
            found = list(journal.records())
    assert len(found) == len(written)
    for i, (record, (kind, header, arrays)) in enumerate(zip(found, written, strict=True)):
        assert (record.number, record.kind, record.header) == (i, kind, header)
        assert_same(record.arrays, arrays)


@pytest.mark.parametrize("size", [1, 100, 2**26])
def test_arrays_of_each_kind_in_pieces(path, monkeypatch, size):
    monkeypatch.setattr(module, "_PIECE_SIZE", size)
    with closing(Journal(path, create=True)) as journal:
        journal.append("all", {}, some_arrays())
        (record,) = journal.records()
    assert_same(record.arrays, some_arrays())


def test_a_journal_is_continued(path):
    bases = set()
    for i in range(3):
        with closing(Journal(path, create=True)) as journal:
            bases.add(journal.base)
            assert journal.sequence == 2 * i
            append(journal, 2)
    assert len(bases) == 1
    assert numbers(path, *bases) == list(range(6))


def test_threads_take_turns(path):
    with closing(Journal(path, create=True)) as journal, ThreadPoolExecutor(4) as pool:
        given_out = list(pool.map(lambda i: journal.append("add", {"i": i}, {}), range(40)))
        found = [record.header["i"] for record in journal.records()]
    assert sorted(given_out) == list(range(40))
    assert found == [given_out.index(n) for n in range(40)]


def test_what_cannot_be_stored_is_not_appended(path):
    with closing(Journal(path, create=True)) as journal:
        for header, arrays in (({1: 2}, {}), ({}, {"x": [1]})):
            with pytest.raises(TypeError):
                journal.append("add", header, arrays)
        append(journal)
    assert numbers(path) == [0]


def test_settings_that_make_a_commit_durable(path):
    names = ("journal_mode", "synchronous", "fullfsync", "locking_mode", "secure_delete")
    with closing(Journal(path, create=True)) as journal:
        found = [value for name in names for ((value,),) in [journal._execute(f"PRAGMA {name}")]]
    assert found == [b"truncate", 2, 1, b"exclusive", 1]


def test_one_file_is_the_whole_journal(path, tmp_path):
    """Between two calls while it is open; when it is closed there is no other file."""
    with closing(Journal(path, create=True)) as journal:
        for i in range(3):
            append(journal)
            copy = shutil.copy(path, tmp_path / f"copy {i}")
            assert numbers(copy, journal.base) == list(range(i + 1))
            os.unlink(copy)
    assert os.listdir(tmp_path) == [path.name]


# -- damage ----------------------------------------------------------------------------------------


def test_flipped_bits(path, rng):
    """Records are as they were, or an error says that they are not; only the last may be lost."""
    begin(path)
    content = path.read_bytes()
    used = np.flatnonzero(np.frombuffer(content, np.uint8))
    outcomes = set()
    for at in rng.choice(used, 200, replace=False):
        flipped = bytearray(content)
        flipped[at] ^= 1 << rng.integers(8)
        put(path, flipped)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = numbers(path)
            except JournalError:
                outcomes.add(JournalError)
                continue
        assert found == ([0, 1] if caught else [0, 1, 2])
        outcomes |= {w.category for w in caught}
    assert outcomes == {JournalError, JournalWarning}


def test_a_file_cut_short(path, rng):
    begin(path)
    content = path.read_bytes()
    for size in rng.integers(1, len(content), 20):
        put(path, content[:size])
        with pytest.raises(JournalError, match=r"model\.journal"):
            numbers(path)
        assert path.read_bytes() == content[:size]


def test_a_damaged_last_record_is_dropped_with_a_warning(path):
    with closing(Journal(path, create=True)) as journal:
        append(journal, 2)
        journal.append("add", {}, {"x": np.full(5000, MARK)})
    change(path, "UPDATE record SET header = '{}' WHERE number = 2")
    assert MARK.tobytes() in path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(JournalWarning):
            numbers(path)
    with pytest.raises(JournalError, match=r"record 2 of .* is damaged"):
        numbers(path, journal.base, 3)  # the archive contains it: its number cannot be used again
    with pytest.warns(JournalWarning, match=r"record of .*model\.journal, number 2,") as caught:
        assert numbers(path) == [0, 1]
    assert [w.filename for w in caught] == [journals.__file__]
    assert MARK.tobytes() not in path.read_bytes()
    with closing(Journal(path)) as journal:
        append(journal)
    assert numbers(path) == [0, 1, 2]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE record SET kind = 'forget' WHERE number = 1",
        "UPDATE record SET header = x'ff', checksum = 'x' WHERE number = 1",
        "UPDATE record SET number = 3 WHERE number = 1",
        "DELETE FROM record WHERE number = 1",
        "UPDATE piece SET content = 3 WHERE record = 1",
        "UPDATE piece SET position = 7, record = 0 WHERE record = 1",
        f"UPDATE journal SET base = '{OTHER}'",  # the records are those of another journal
    ],
)
def test_an_earlier_record_that_was_changed(path, statement):
    begin(path)
    change(path, statement)
    content = path.read_bytes()
    with pytest.raises(JournalError, match=r"record \d of .*model\.journal is damaged.* a copy"):
        numbers(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END",
        "DROP TABLE piece",
        "DELETE FROM journal",
        "UPDATE journal SET base = 'mine'",
    ],
)
def test_other_tables_than_those_of_a_journal(path, statement):
    begin(path)
    change(path, statement)
    with pytest.raises(JournalError, match=r"model\.journal is damaged"):
        Journal(path)


@pytest.mark.parametrize("content", [b"x" * 5000, b"x", bytes(5000), b"PK\x03\x04", "database"])
def test_a_file_that_is_no_journal(path, content):
    if content == "database":
        change(path, "PRAGMA journal_mode=WAL", "CREATE TABLE t (x)")
        content = path.read_bytes()
    path.write_bytes(content)
    for create in (False, True):
        with pytest.raises(JournalError, match=r"model\.journal is not a journal.*path of one"):
            Journal(path, create=create)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_a_later_version(path):
    begin(path)
    change(path, f"PRAGMA user_version={module.VERSION + 1}")
    with pytest.raises(JournalError, match=r"model\.journal has version.*update widestreet"):
        Journal(path)


@pytest.mark.parametrize("text", [b"", b"{}", b'{"header": {}, "arrays": {}, "parts": [["x", 9]]}'])
def test_a_complete_record_that_says_nothing(path, text):
    with closing(Journal(path, create=True)) as journal:
        values = (0, "add", text.decode(), journal._checksum(0, b"add", text, b""))
        journal._execute("INSERT INTO record VALUES (?, ?, ?, ?)", *values)
        with pytest.raises(JournalError, match=r"record 0 of .* is complete but cannot be unders"):
            list(journal.records())


def test_an_empty_file_becomes_a_journal(path):
    path.touch()
    assert is_journal(path)
    with pytest.raises(JournalError, match=r"model\.journal is empty"):
        Journal(path)
    assert path.stat().st_size == 0
    begin(path)
    assert numbers(path) == [0, 1, 2]


# -- the archive that is continued -----------------------------------------------------------------


def test_the_wrong_base(path):
    base = begin(path)
    with pytest.raises(JournalError, match=f"continues the archive {base}, not {OTHER}"):
        Journal(path, OTHER)


def test_records_that_the_archive_contains_are_left_out(path):
    base = begin(path)
    for start in range(4):
        assert numbers(path, base, start) == list(range(start, 3))
    with pytest.raises(JournalError, match=r"has 3 records, but the archive contains 4"):
        Journal(path, base, 4)  # its next record would be left out when the archive is loaded


# -- writers ---------------------------------------------------------------------------------------


def test_a_second_writer_is_refused(path):
    """In this process and in another one; what this one tries does not end the lock."""
    with closing(Journal(path, create=True)) as journal:
        for use in (Journal, is_journal, lambda p: Journal(p, create=True)):
            with pytest.raises(JournalError, match=r"model\.journal is open for appending else"):
                use(path)
        assert "JournalError: " + str(path) in other_process(path, "j.sequence")
        append(journal)


@POSIX
def test_a_record_of_another_process_is_not_overwritten(path):
    """Whoever reads the file in the writing process ends the lock, as POSIX demands."""
    begin(path, 1)
    with closing(Journal(path)) as journal:
        assert path.read_bytes()
        assert other_process(path, "j.append('add', {'row': 1}, {})") == "1\n"
        with pytest.raises(JournalError, match="was written by another process while it was open"):
            append(journal)
    with closing(Journal(path)) as journal:
        assert journal.sequence == 2


def test_a_copy_of_the_process_and_a_closed_journal_cannot_append(path, monkeypatch):
    journal = Journal(path, create=True)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(JournalError, match="before this process was forked"):
            append(journal)
    append(journal)
    for _ in range(2):
        journal.close()
    with pytest.raises(JournalError, match=r"model\.journal has been closed"):
        append(journal)


@POSIX
@pytest.mark.parametrize("deleted", [True, False])
def test_a_file_that_is_taken_away(path, deleted):
    """What is appended to a file without a name would be acknowledged and lost."""
    with closing(Journal(path, create=True)) as journal:
        append(journal)
        copy = shutil.copy(path, path.with_name("copy"))
        path.unlink() if deleted else os.replace(copy, path)
        with pytest.raises(JournalError, match="moved, deleted or replaced"):
            append(journal)


# -- places and disks ------------------------------------------------------------------------------


def test_places_that_do_not_exist(tmp_path, path):
    with pytest.raises(FileNotFoundError, match=r"model\.journal"):
        Journal(path)
    for create in (True, False):
        with pytest.raises(FileNotFoundError, match=r"folder of a journal must exist.*nowhere"):
            Journal(tmp_path / "nowhere" / "model.journal", create=create)
        with pytest.raises(OSError, match=tmp_path.name):
            Journal(tmp_path, create=create)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_place_where_we_may_not_write(tmp_path, path):
    begin(path)
    path.chmod(0o400)
    with pytest.raises(PermissionError, match=r"be writable.*model\.journal"):
        Journal(path)
    path.chmod(0o600)
    tmp_path.chmod(0o500)
    for name in ("model.journal", "other"):
        with pytest.raises(PermissionError, match=rf"be writable.*{name}"):
            Journal(tmp_path / name, create=True)
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("there", [True, False])
def test_the_file_beside_a_journal_is_not_overwritten(path, there):
    if there:
        begin(path)
    beside = path.with_name("model.journal-journal")
    beside.write_bytes(b"PK, an archive")
    with pytest.raises(JournalError, match=r"model\.journal-journal exists"):
        Journal(path, create=True)
    assert beside.read_bytes() == b"PK, an archive"


def test_a_full_disk(path):
    with closing(Journal(path, create=True)) as journal:
        append(journal, 2)
        content = path.read_bytes()
        ((pages,),) = journal._execute("PRAGMA max_page_count=1")  # sets it to those there are
        with pytest.raises(OSError, match=r"cannot grow.*model\.journal") as caught:
            journal.append("add", {}, {"x": np.full(5000, MARK)})
        assert caught.value.errno == errno.ENOSPC
        assert path.read_bytes() == content
        journal._execute(f"PRAGMA max_page_count={pages + 100}")
        append(journal)
    assert numbers(path) == [0, 1, 2]


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), KeyboardInterrupt()])
@pytest.mark.parametrize("failed", ["INSERT INTO piece", "COMMIT"])
def test_an_append_that_fails_leaves_no_trace(tmp_path, path, monkeypatch, error, failed):
    with closing(Journal(path, create=True)) as journal:
        append(journal, 2)
        content, execute = path.read_bytes(), journal._execute

        def broken(statement, *values):
            if statement.startswith(failed):
                raise error
            return execute(statement, *values)

        with monkeypatch.context() as patch:
            patch.setattr(journal, "_execute", broken)
            with pytest.raises(type(error)):
                journal.append("add", {}, {"x": np.full(500_000, MARK)})
        assert journal.sequence == 2
        assert path.read_bytes() == content
        assert all(MARK.tobytes() not in file.read_bytes() for file in tmp_path.iterdir())
        append(journal, 2)
    assert numbers(path) == [0, 1, 2, 3]
