"""What archives and journals share: what can be stored, and what is refused."""

from __future__ import annotations

import io
import os
import uuid

import numpy as np
import pytest
from scipy import sparse

from support.stored_arrays import assert_same
from widestreet._src.persistence import storage
from widestreet._src.persistence.storage import (
    flatten,
    from_json,
    plain,
    read_npy,
    replacing,
    restore,
    write_npy,
)

# -- headers ---------------------------------------------------------------------------------------


def test_numbers_of_numpy_become_those_of_python():
    found = plain({"a": np.int8(3), "b": (np.float32(0.5), np.bool_(True)), "c": np.str_("x")})
    assert found == {"a": 3, "b": [0.5, True], "c": "x"}
    assert [type(v) for v in found["b"]] == [float, bool]
    assert type(found["a"]) is int


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"C": {"of": [1, {2: 3}]}}, r"header\['C'\]\['of'\]\[1\] has the key 2.*list of pairs"),
        ({"X": np.zeros(3)}, r"header\['X'\] is of type ndarray.*among the arrays"),
        ({"base": uuid.uuid4()}, r"header\['base'\] is of type UUID"),
        ({"z": np.complex128(1)}, r"header\['z'\] is of type complex"),
        ({"long": np.longdouble(1)}, r"header\['long'\] is of type longdouble"),
        ({"set": {1}}, r"header\['set'\] is of type set"),
        ([b"x"], r"header\[0\] is of type bytes"),
    ],
)
def test_what_json_would_change_is_refused(header, message):
    with pytest.raises(TypeError, match=message):
        plain(header)


@pytest.mark.parametrize("text", [b"", b"[1]", b"{", b"\xff", b'{"a":' * 100_000])
def test_json_that_is_no_header(text):
    with pytest.raises(ValueError, match=r"JSON|Expecting|codec"):
        from_json(text)


# -- arrays ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, 2.0], "'X' must be an ndarray or a CSR matrix, got list; convert it"),
        (sparse.csc_matrix((2, 2)), r"got csc_matrix.*tocsr"),
        (sparse.coo_array(np.ones(3)), r"got coo_array"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "got MaskedArray"),
        (np.zeros(2, [("a", "f8")]), "'X' has type .*fields one by one"),
        (np.array(["a", 1], object), r"objects of type int, str.*astype\(str\)"),
        (np.array([None], object), "objects of type NoneType"),
        (np.array([[1], [1, 2]], object), "objects of type list"),
    ],
)
def test_what_cannot_be_stored(value, message):
    with pytest.raises(TypeError, match=message):
        flatten({"X": value})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array(["a\0"], object), "null character"),
        (np.array([2**64], object), "more than 64 bits"),
    ],
)
def test_labels_that_would_change_are_refused(value, message):
    with pytest.raises(ValueError, match=message):
        flatten({"X": value})


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".hidden", "ä", "a b", 3, "a\n"])
def test_names(name):
    with pytest.raises(ValueError, match="name of an array"):
        flatten({name: np.zeros(1)})


def test_scalars_and_objects_of_numpy():
    arrays = {"x": np.float32(2.5), "y": np.array([np.int64(3), 4], object)}
    found = restore(*flatten(arrays))
    assert_same(found, {"x": np.array(2.5, np.float32), "y": np.array([3, 4], object)})


def test_variable_strings_of_numpy_2():
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy 1 has none")
    words = np.array(["a", "street"], np.dtypes.StringDType())
    assert_same(restore(*flatten({"x": words})), {"x": np.array(["a", "street"], object)})


def csr_parts(**changes) -> dict:
    parts = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}
    return {f"X/{part}": value for part, value in (parts | changes).items()}


@pytest.mark.parametrize(
    "parts",
    [
        csr_parts(indices=np.array([0, 2])),
        csr_parts(indices=np.array([-1, 0])),
        csr_parts(indices=np.array([0.0, 1.0])),
        csr_parts(indptr=np.array([0, 2, 1])),
        csr_parts(indptr=np.array([0, 1, 3])),
        csr_parts(indptr=np.array([1, 1, 2])),
        csr_parts(indptr=np.array([0, 2])),
        csr_parts(data=np.ones(3)),
        csr_parts(data=np.ones((2, 1))),
    ],
)
def test_indices_that_native_code_would_trip_over(parts):
    layout = {"X": {"kind": "csr_matrix", "shape": [2, 2]}}
    assert np.array_equal(restore(layout, csr_parts())["X"].toarray(), np.eye(2))
    with pytest.raises(ValueError):  # noqa: PT011 - most are SciPy's own
        restore(layout, parts)


@pytest.mark.parametrize("entry", [{"kind": "pickle"}, {}, 3, {"kind": "csr_array", "shape": [1]}])
def test_unknown_kinds(entry):
    with pytest.raises(ValueError, match="unknown kind"):
        restore({"X": entry}, {"X": np.zeros(1)})


# -- the .npy format -------------------------------------------------------------------------------


def npy(descr="'<f8'", shape="(3,)", data=b"\0" * 24, version=(1, 0)) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode("latin1")
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    "content",
    [
        npy(shape="(1_000_000_000_000,)"),  # would ask for 8 TB
        npy(shape="(10**12,)"),
        npy(shape="(-1, -3)"),
        npy(shape="(2,)"),
        npy(shape="3"),
        npy(descr="'|O'"),
        npy(descr="[('a', '<f8')]"),
        npy(descr="'nonsense'"),
        npy(descr="__import__('os').abort()"),
        npy(shape="(" * 3000 + ")" * 3000),
        npy(version=(2, 0)),
        npy(data=b""),
        b"\x93NUMPY",
        b"PK",
        b"",
    ],
)
def test_an_array_that_is_not_what_it_says(content):
    assert read_npy(io.BytesIO(npy()), len(npy())).shape == (3,)
    with pytest.raises(ValueError):  # noqa: PT011 - some are NumPy's own
        read_npy(io.BytesIO(content), len(content))


def test_an_array_that_ends_early():
    with pytest.raises(ValueError, match="ends early"):
        read_npy(io.BytesIO(npy()[:-1]), len(npy()))


def test_numpy_reads_what_we_write():
    stream = io.BytesIO()
    write_npy(stream, np.arange(6).reshape(2, 3))
    stream.seek(0)
    assert np.array_equal(np.load(stream, allow_pickle=False), [[0, 1, 2], [3, 4, 5]])


# -- replacing files -------------------------------------------------------------------------------


def write(path, content: bytes) -> None:
    with replacing(str(path)) as file:
        file.write(content)


@pytest.mark.parametrize("before", [None, b"old"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_a_write_that_fails_changes_nothing(tmp_path, before, error):
    path = tmp_path / "file"
    if before:
        path.write_bytes(before)
    with pytest.raises(error), replacing(str(path)) as file:  # noqa: PT012 - the block is the test
        file.write(b"half")
        raise error
    assert os.listdir(tmp_path) == (["file"] if before else [])
    assert not before or path.read_bytes() == before


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage, "sync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*model") as caught:
        write(tmp_path / "model", b"x")
    assert caught.value.filename == str(tmp_path / "model")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes and links")
def test_modes_and_links_are_kept(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    (tmp_path / "usual").write_bytes(b"")
    write(path, b"one")
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode
    path.chmod(0o640)
    link.symlink_to(path)
    write(link, b"two")
    assert link.is_symlink()
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o640


def test_files_and_folders_are_synchronised_in_order(tmp_path, monkeypatch):
    """What is written first, then the name: the other way round, a crash leaves an empty file."""
    done = []
    for name in ("replace", "fsync"):
        call = getattr(os, name)

        def watched(*args, name=name, call=call):
            done.append(name)
            return call(*args)

        monkeypatch.setattr(os, name, watched)
    monkeypatch.setattr(storage.sys, "platform", "linux")
    write(tmp_path / "file", b"x")
    assert done == ["fsync", "replace", "fsync"]


def test_a_folder_that_cannot_be_synchronised(tmp_path, monkeypatch):
    def refuse(descriptor):
        raise OSError(number, "no")

    monkeypatch.setattr(storage.os, "fsync", refuse)
    number = storage.errno.EINVAL
    storage.sync_directory(str(tmp_path / "file"))  # some file systems know no such thing
    number = storage.errno.EIO
    with pytest.raises(OSError, match="no"):
        storage.sync_directory(str(tmp_path / "file"))
