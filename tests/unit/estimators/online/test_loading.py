"""Online estimators from files: archives, journals, and files that are neither."""

from __future__ import annotations

import os

import pytest

from support.online_files import MACHINES, add, assert_same, data, fresh
from widestreet.online import OnlineSVR, load


@pytest.fixture(params=MACHINES)
def kind(request) -> str:
    return request.param


def test_a_journal_alone_brings_a_machine_back(kind, tmp_path):
    X, y = data(kind)
    path = tmp_path / "rows.journal"
    one = fresh(kind)
    for a, b in ((0, 30), (30, 31), (31, 40)):
        add(one, kind, X[a:b], y[a:b], journal=path)
    one.forget([33, 35], journal=path).change_weight([36, 37], [2.0, 0.5], journal=path)
    one.end_journal()
    other = load(path)
    assert_same(one, other, X)
    add(other, kind, X[40:41], y[40:41], journal=path)  # it goes on with the same file
    other.end_journal()
    assert_same(other, load(path), X)


def test_a_journal_goes_on_from_an_archive(kind, tmp_path):
    X, y = data(kind)
    path, model = tmp_path / "rows.journal", tmp_path / "model.street"
    one = add(fresh(kind), kind, X[:30], y[:30])
    add(one, kind, X[30:35], y[30:35], journal=path)
    one.save(model)
    add(one, kind, X[35:40], y[35:40], journal=path)
    one.save(tmp_path / "later.street")  # a copy elsewhere does not end the journal
    add(one, kind, X[40:42], y[40:42], journal=path)
    one.end_journal()
    for source in (model, tmp_path / "later.street"):
        other = load(source, journal=path)
        assert_same(one, other, X)
        other.end_journal()
    assert_same(one, load(path), X)
    with pytest.warns(UserWarning, match="pass journal="):
        assert load(model).n_rows_ < one.n_rows_ or one.max_rows is not None


@pytest.mark.parametrize("content", [b"", b"rows", bytes(5000)])
def test_a_file_that_holds_no_machine(tmp_path, content):
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(ValueError, match=str(tmp_path / "j")):
        load(tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == content


def test_files_that_are_not_there_or_not_meant(tmp_path):
    X, y = data("svr")
    one = OnlineSVR().partial_fit(X[:20], y[:20], journal=tmp_path / "j")
    one.save(tmp_path / "m")
    with pytest.raises(FileNotFoundError, match="journal="):
        load(tmp_path / "m", journal=tmp_path / "k")
    with pytest.raises(ValueError, match="is the journal"):
        one.save(tmp_path / "j")
    with pytest.raises(FileNotFoundError, match="path="):
        load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="is the journal"):
        one.save(tmp_path / "j-journal")  # SQLite's
    here = os.path.relpath(tmp_path / "j")  # another name of the same file
    one.partial_fit(X[20:21], y[20:21], journal=here)
    one.end_journal()
    assert load(tmp_path / "m", journal=here).n_rows_ == 21
    OnlineSVR().fit(X, y).save(tmp_path / "alone")
    with pytest.raises(ValueError, match="does not begin"):
        load(tmp_path / "alone", journal=tmp_path / "j")
    whole = (tmp_path / "alone").read_bytes()
    (tmp_path / "alone").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"is damaged .*copy it again"):
        load(tmp_path / "alone")
