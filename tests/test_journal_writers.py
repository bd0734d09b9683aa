"""Writers of journals: one at a time, and nothing half done, whatever the disk says."""

from __future__ import annotations

import errno
import os
import shutil

import pytest

from journals import BASE, append, ends, failing, numbers
from widestreet._src.persistence.journal import Journal, JournalError, writing

POSIX = pytest.mark.skipif(writing.fcntl is None, reason="needs locks")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.journal"


# -- writers ---------------------------------------------------------------------------------------


@POSIX
def test_two_writers(path):
    with Journal.create(path, BASE) as journal:
        for use in (Journal, Journal.resume, Journal.create):
            with pytest.raises(JournalError, match=r"model\.journal is open for appending else"):
                use(path, BASE)
        append(journal)
        journal.restart()
        with pytest.raises(JournalError, match="is open for appending elsewhere"):
            Journal(path)
        append(journal)
        assert numbers(path) == [1]  # readers are welcome
    Journal(path).close()


@POSIX
def test_a_journal_restarted_while_another_opens_it(path, monkeypatch):
    """The lock is on the old file, which is no longer there."""
    journal = Journal.create(path, BASE)
    lock = writing._lock

    def late(file, name):
        monkeypatch.setattr(writing, "_lock", lock)
        journal.restart()
        journal.close()
        lock(file, name)

    monkeypatch.setattr(writing, "_lock", late)
    with pytest.raises(JournalError, match="is open for appending elsewhere"):
        Journal(path)


@pytest.mark.parametrize("why", ["no module", "no locks"])
def test_without_locks(path, monkeypatch, why):
    if why == "no module":
        monkeypatch.setattr(writing, "fcntl", None)
    elif writing.fcntl is None:
        pytest.skip("there are none anyway")
    else:
        refused = failing(OSError(errno.ENOLCK, "no locks available"))
        monkeypatch.setattr(writing.fcntl, "flock", refused)
    with Journal.create(path, BASE) as one, Journal(path) as other:
        append(one)
        with pytest.raises(JournalError, match="written by somebody else"):
            append(other)
        one.restart()
        append(one)
    assert numbers(path) == [1]


@POSIX
def test_locks_that_fail_otherwise(path, monkeypatch):
    monkeypatch.setattr(writing.fcntl, "flock", failing(OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="broken"):
        Journal.create(path, BASE)


def test_a_copy_of_the_process_cannot_append(path, monkeypatch):
    with Journal.create(path, BASE) as journal:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        for use in (lambda: append(journal), journal.restart):
            with pytest.raises(JournalError, match="opened by another process"):
                use()


def test_a_closed_journal(path):
    journal = Journal.create(path, BASE)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match=r"model\.journal has been closed"):
        append(journal)


@pytest.mark.skipif(os.name == "nt", reason="open files stay where they are")
@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_a_file_that_is_taken_away(path, change):
    """What is appended to a file without a name would be acknowledged and lost."""
    with Journal.create(path, BASE) as journal:
        append(journal)
        copy = shutil.copy(path, path.with_name("copy"))
        if change == "deleted":
            path.unlink()
        else:
            os.replace(copy, path)
        for use in (lambda: append(journal), journal.restart):
            with pytest.raises(JournalError, match="moved, deleted or replaced"):
                use()


# -- places and disks ------------------------------------------------------------------------------


def test_places_that_do_not_exist(tmp_path):
    path = tmp_path / "nowhere" / "model.journal"
    with pytest.raises(FileNotFoundError, match=r"Journal\.create makes a new one.*model\.journal"):
        Journal(path)
    with pytest.raises(FileNotFoundError, match=r"folder must exist.*model\.journal"):
        Journal.create(path, BASE)
    with pytest.raises(FileNotFoundError, match=r"model\.journal"):
        numbers(path)
    with pytest.raises(OSError, match=tmp_path.name):
        Journal.create(tmp_path, BASE)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_place_where_we_may_not_write(tmp_path, path):
    ends(path)
    path.chmod(0o400)
    with pytest.raises(PermissionError, match=r"be writable.*model\.journal"):
        Journal(path)
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match=r"be writable.*other"):
        Journal.create(tmp_path / "other", BASE)
    tmp_path.chmod(0o700)


def test_an_existing_journal_is_not_overwritten(path):
    ends(path)
    with pytest.raises(FileExistsError, match=r"open it with Journal.*model\.journal"):
        Journal.create(path, BASE)
    with pytest.raises(ValueError, match=r"first must be .* got -1"):
        Journal.create(path.with_name("other"), BASE, first=-1)
    assert numbers(path) == [0, 1, 2]


def test_the_name_of_a_new_journal_is_made_durable(path, monkeypatch):
    synchronised = []
    monkeypatch.setattr(writing, "sync_directory", synchronised.append)
    Journal.create(path, BASE).close()
    Journal(path).close()
    assert synchronised == [str(path.resolve())]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
@pytest.mark.parametrize("name", ["_write", "sync"])
@pytest.mark.parametrize("repairable", [True, False])
def test_an_append_that_fails_leaves_no_trace(path, monkeypatch, name, error, repairable):
    write = writing._write

    def half(file, data):
        write(file, data[: len(data) // 2])
        raise error

    with Journal.create(path, BASE) as journal:
        append(journal, 2)
        with monkeypatch.context() as broken:
            broken.setattr(writing, name, half if name == "_write" else failing(error))
            if not repairable:
                broken.setattr(journal, "_repair", failing(OSError(errno.EIO, "broken")))
            with pytest.raises((type(error), OSError)):
                append(journal)
        assert journal.sequence == 2
        if repairable:
            assert numbers(path) == [0, 1]
        append(journal, 2)
        assert numbers(path) == [0, 1, 2, 3]


def test_writes_in_pieces(path, monkeypatch):
    """A system may write less than it was given."""

    class Slow(writing.io.FileIO):
        def write(self, data):
            return super().write(data[:7])

    monkeypatch.setattr(writing.io, "FileIO", Slow)
    ends(path)
    assert numbers(path) == [0, 1, 2]
