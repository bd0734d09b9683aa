"""Estimators from files: archives, journals, and files that are neither."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import widestreet as ws
from support.fitted_models import fitted
from support.online_files import MACHINES, add, assert_same, data, fresh
from widestreet.io import ArchiveError
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


# -- files of other versions -----------------------------------------------------------------------

HERE = Path(__file__).parent
ROWS = np.array([[0.0, 1], [1, 0], [2, 1], [3, 3], [4, 2], [5, 5]])


def test_files_of_the_first_schema_are_read():
    model = ws.load(HERE / "schema_1.street")
    assert model.predict(ROWS).tolist() == ["no", "no", "yes", "yes", "no", "yes"]
    assert model.certificate_.status == "optimal"
    model = ws.load(HERE / "schema_1_online.street")
    assert model.verify().status == "optimal"
    assert model.partial_fit(ROWS[:1] + 1, [1.0]).n_rows_ == 7


def rewritten(path, change) -> None:
    """Change the header of a file, with correct checksums."""
    with zipfile.ZipFile(path) as members:
        content = {name: members.read(name) for name in members.namelist()}
    header = json.loads(content["header.json"])
    change(header)
    content["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as members:
        for name, data in content.items():
            members.writestr(name, data)


@pytest.mark.parametrize("layer", ["format", "state"])
def test_a_later_file_is_refused_with_the_version_to_install(layer, tmp_path):
    path = tmp_path / "m.street"
    fitted("svc/rbf/dense").model.save(path)

    def change(header):
        header["header"]["widestreet"] = "7.3"
        if layer == "format":
            header["version"] = 2
        else:
            header["header"]["schema"] = 2

    rewritten(path, change)
    with pytest.raises(ArchiveError, match=r"m\.street.*install widestreet>=7\.3"):
        ws.load(path)


def test_parameters_that_a_file_does_not_have_are_the_defaults(tmp_path):
    path = tmp_path / "m.street"
    fitted("svc/rbf/dense").model.save(path)
    rewritten(path, lambda header: header["header"]["parameters"].pop("break_ties"))
    assert ws.load(path).break_ties is False


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(machine="Pipeline"),
        lambda header: header["parameters"].update(unknown=3),
        lambda header: header["parameters"].update(strategy={"$strategy": "os", "parameters": {}}),
        lambda header: header["fitted"].pop("dual_coef_"),
        lambda header: header["fitted"].update(predict=3),
        lambda header: header["fitted"]["_kernel"].update(name="callable"),
        lambda header: header["fitted"]["certificates_"][0].update(status="perfect"),
        lambda header: header.pop("fitted"),
    ],
)
def test_a_file_that_was_changed_is_refused(change, tmp_path):
    path = tmp_path / "m.street"
    fitted("svc/rbf/dense").model.save(path)
    rewritten(path, lambda header: change(header["header"]))
    with pytest.raises(ArchiveError, match=r"m\.street is damaged, or was changed"):
        ws.load(path)


def test_only_online_estimators_have_journals(tmp_path):
    fitted("svc/rbf/dense").model.save(tmp_path / "m")
    with pytest.raises(ValueError, match=r"journal: .* no online estimator"):
        ws.load(tmp_path / "m", journal=tmp_path / "j")


def test_an_empty_file(tmp_path):
    path = tmp_path / "m.street"
    path.touch()
    with pytest.raises(ArchiveError, match=r"m\.street is empty: copy it again"):
        ws.load(path)
