"""Online machines in files: archives, journals, and processes that die while they write."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from scipy import sparse

from support.journals import failing
from widestreet._src.persistence.journal import Journal, JournalWarning
from widestreet.datasets import friedman, twonorm
from widestreet.online import (
    OnlineNuSVC,
    OnlineNuSVR,
    OnlineOneClassSVM,
    OnlineSVC,
    OnlineSVR,
    load,
)

MACHINES = {
    "svc": OnlineSVC(C=2.0, gamma=0.05, class_weight={-1: 2.0}, n_jobs=1),
    "nu_svc": OnlineNuSVC(nu=0.2, gamma=0.05, n_jobs=1),
    "svr": OnlineSVR(C=5.0, gamma="scale", max_rows=45, n_jobs=1),
    "nu_svr": OnlineNuSVR(C=5.0, kernel="poly", coef0=1.0, degree=2, n_jobs=1),
    "one_class": OnlineOneClassSVM(nu=0.3, gamma=0.1, n_jobs=1),
}


def data(kind: str, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    return friedman(n, random_state=0) if "svr" in kind else twonorm(n, random_state=0)


def fresh(kind: str):
    machine = MACHINES[kind]
    return type(machine)(**machine.get_params())


def add(machine, kind: str, X, y, **options):
    return machine.partial_fit(X, **({} if kind == "one_class" else {"y": y}), **options)


def values(machine, X) -> np.ndarray:
    return getattr(machine, "decision_function", machine.predict)(X)


def assert_same(one, other, X) -> None:
    assert type(one) is type(other)
    assert one.get_params() == other.get_params()
    assert np.array_equal(one.ids_, other.ids_)
    assert np.array_equal(one.support_, other.support_)
    np.testing.assert_allclose(values(one, X), values(other, X), rtol=0, atol=1e-9)
    assert other.verify().status == "optimal"


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


@pytest.mark.parametrize("content", [b"", b"rows", bytes(5000)])
def test_a_file_that_holds_no_machine(tmp_path, content):
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(ValueError, match=str(tmp_path / "j")):
        load(tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == content


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
