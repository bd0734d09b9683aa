"""Online machines in files: archives, journals, and processes that die while they write."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest
from scipy import sparse

from support.journals import failing
from support.online_files import MACHINES, add, assert_same, data, fresh
from widestreet._src.estimators.online.persistence import Log
from widestreet._src.persistence.journal import Journal, JournalWarning
from widestreet.online import OnlineSVC, OnlineSVR, load


@pytest.fixture(params=MACHINES)
def kind(request) -> str:
    return request.param


def test_a_machine_comes_back_from_an_archive_and_goes_on(kind, tmp_path):
    X, y = data(kind)
    one = add(add(fresh(kind), kind, X[:40], y[:40]), kind, X[40:50], y[40:50]).forget([41, 45])
    one.save(tmp_path / "model.street")
    other = load(tmp_path / "model.street")
    assert_same(one, other, X)
    for machine in (one, other):
        add(machine, kind, X[50:], y[50:])
    assert_same(one, other, X)


def test_parameters_that_change_on_the_way_are_written_down(tmp_path):
    X, y = data("svc")
    one = OnlineSVC(C=1.0, gamma=0.05).fit(X[:30], y[:30])
    one.partial_fit(X[30:31], y[30:31], journal=tmp_path / "j")
    one.set_params(C=7.0, max_rows=25).partial_fit(X[31:40], y[31:40], journal=tmp_path / "j")
    one.end_journal()
    other = load(tmp_path / "j")
    assert_same(one, other, X)
    assert other.C == 7.0


def test_classes_strings_names_and_sparse_rows_come_back(tmp_path):
    X, y = data("svc")
    label = np.array(["no", "yes"])[(y > 0).astype(int)]
    one = OnlineSVC(gamma=0.05)
    one.partial_fit(
        sparse.csr_matrix(X[:20]),
        label[:20],
        classes=["maybe", "no", "yes"],
        journal=tmp_path / "j",
    )
    one.save(tmp_path / "m")
    one.end_journal()
    other = load(tmp_path / "m", journal=tmp_path / "j")
    assert other.classes_.tolist() == ["maybe", "no", "yes"]
    assert sparse.issparse(other.support_vectors_)
    assert other.predict(X[:5]).tolist() == one.predict(X[:5]).tolist()


def test_another_history_is_not_overwritten(tmp_path):
    X, y = data("svr")
    OnlineSVR().partial_fit(X[:20], y[:20], journal=tmp_path / "j")
    other = OnlineSVR().fit(X[20:40], y[20:40])
    with pytest.raises(FileExistsError, match=r"load\("):
        other.partial_fit(X[40:], y[40:], journal=tmp_path / "j")
    assert other.n_rows_ == 20
    assert load(tmp_path / "j").n_rows_ == 20


def test_a_call_without_the_journal_ends_it(tmp_path):
    X, y = data("svr")
    one = OnlineSVR().partial_fit(X[:20], y[:20], journal=tmp_path / "j")
    with pytest.warns(UserWarning, match="not written to the journal"):
        one.partial_fit(X[20:21], y[20:21])
    with pytest.raises(FileExistsError, match="another history"):
        one.partial_fit(X[21:22], y[21:22], journal=tmp_path / "j")


def test_what_cannot_be_written_is_refused_before_anything_happens(tmp_path):
    X, y = data("svr")
    one = OnlineSVR(kernel=lambda A, B: A @ B.T).fit(X[:20], y[:20])
    with pytest.raises(TypeError, match="kernel="):
        one.partial_fit(X[20:], y[20:], journal=tmp_path / "j")
    assert one.n_rows_ == 20


def test_if_the_journal_cannot_be_written_the_rows_are_not_added(tmp_path, monkeypatch):
    X, y = data("svr")
    one = OnlineSVR().partial_fit(X[:20], y[:20], journal=tmp_path / "j")
    before = one.predict(X)

    def full(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr(one._log.journal, "append", full)
    with pytest.raises(OSError, match="no space"):
        one.partial_fit(X[20:], y[20:], journal=tmp_path / "j")
    assert one.n_rows_ == 20
    monkeypatch.undo()
    one.partial_fit(X[20:21], y[20:21], journal=tmp_path / "j").forget(20, journal=tmp_path / "j")
    np.testing.assert_allclose(one.predict(X), before, atol=1e-9)


def test_a_journal_that_could_not_be_begun_is_begun_by_the_next_call(tmp_path, monkeypatch):
    """Though the error of the first is still known, as in an interactive session."""
    X, y = data("svr")
    one = OnlineSVR().fit(X[:20], y[:20])
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", failing(OSError("no space left on device")))
        with pytest.raises(OSError, match="no space") as caught:
            one.partial_fit(X[20:], y[20:], journal=tmp_path / "j")
    assert one.n_rows_ == 20
    one.partial_fit(X[20:], y[20:], journal=tmp_path / "j").end_journal()
    assert_same(one, load(tmp_path / "j"), X)
    assert caught.value is not None


def test_a_damaged_last_record_is_dropped_with_a_warning(tmp_path):
    X, y = data("svr")
    one = OnlineSVR().partial_fit(X[:20], y[:20], journal=tmp_path / "j")
    one.partial_fit(X[20:21], y[20:21], journal=tmp_path / "j")
    one.end_journal()
    whole = (tmp_path / "j").read_bytes()
    at = whole.index(X[20].tobytes())
    (tmp_path / "j").write_bytes(whole[:at] + bytes(8) + whole[at + 8 :])
    with pytest.warns(JournalWarning, match="is damaged and is deleted") as caught:
        other = load(tmp_path / "j")
    assert [w.filename for w in caught] == [__file__]
    assert other.n_rows_ == 20
    assert other.verify().status == "optimal"


def test_a_new_journal_has_no_byte_of_a_forgotten_row(tmp_path):
    X, y = data("svr")
    X[7] = 1234.56789
    one = OnlineSVR().partial_fit(X[:20], y[:20], journal=tmp_path / "first")
    assert X[7].tobytes() in (tmp_path / "first").read_bytes()
    one.forget(7, journal=tmp_path / "first")
    one.partial_fit(X[20:21], y[20:21], journal=tmp_path / "second").end_journal()
    (tmp_path / "first").unlink()
    files = list(tmp_path.iterdir())
    assert [file.name for file in files] == ["second"]
    assert X[7].tobytes() not in files[0].read_bytes()


def test_the_kernel_that_rows_came_under_is_written_and_not_the_parameter(tmp_path):
    X, y = data("svc")
    one = OnlineSVC(kernel="poly", degree=2, coef0=1.0).fit(X, y).set_params(degree=5, coef0=3.0)
    one.save(tmp_path / "m")
    np.testing.assert_allclose(
        load(tmp_path / "m").decision_function(X), one.decision_function(X), atol=1e-9
    )


def test_first_saved_then_journalled(tmp_path):
    X, y = data("svr")
    one = OnlineSVR().fit(X[:30], y[:30])
    one.save(tmp_path / "m")
    one.partial_fit(X[30:], y[30:], journal=tmp_path / "j")
    one.end_journal()
    assert_same(one, load(tmp_path / "m", journal=tmp_path / "j"), X)


def test_ctrl_c_waits_while_a_change_is_made_final(tmp_path):
    X, y = data("svr")
    one = OnlineSVR().partial_fit(X[:20], y[:20], journal=tmp_path / "j")
    append = one._log.journal.append

    def interrupted(*args):
        number = append(*args)
        os.kill(os.getpid(), signal.SIGINT)
        return number

    one._log.journal.append = interrupted
    with pytest.raises(KeyboardInterrupt):
        one.forget(3, journal=tmp_path / "j")
    assert 3 not in one.ids_  # it is in the journal, and so it is done
    one._log.journal.append = append
    one.forget(4, journal=tmp_path / "j")
    one.end_journal()
    assert_same(one, load(tmp_path / "j"), X)


def test_names_of_features_survive(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = data("svr")
    frame = pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    one = OnlineSVR().partial_fit(frame[:20], y[:20], journal=tmp_path / "j")
    one.partial_fit(frame[20:25], y[20:25], journal=tmp_path / "j")
    one.end_journal()
    assert load(tmp_path / "j").feature_names_in_.tolist() == frame.columns.tolist()


def test_a_call_without_the_journal_ends_it_even_before_the_first_row(tmp_path):
    X, y = data("svc")
    model = OnlineSVC(gamma=1.0)
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(X[:9], y[:9], np.full(9, -1.0), journal=tmp_path / "j")
    model._log = Log.begin((tmp_path / "j").resolve(), model)  # as after a change that failed
    with pytest.warns(UserWarning, match="not written to the journal") as caught:
        model.partial_fit(X[:9], y[:9])
    assert [one.filename for one in caught] == [__file__]
    assert model._log is None


def test_a_fit_that_may_not_end_its_journal_changes_nothing(tmp_path):
    X, y = data("svc")
    model = OnlineSVC(gamma=1.0).partial_fit(X[:20], y[:20], journal=tmp_path / "j")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="not written to the journal"):
            model.fit(X[:30], y[:30])
    assert model.n_rows_ == 20
    model.partial_fit(X[20:25], y[20:25], journal=tmp_path / "j").end_journal()
    assert load(tmp_path / "j").n_rows_ == 25
