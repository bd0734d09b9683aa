"""Archives: what was saved comes back; what was not saved so is refused with a reason."""

from __future__ import annotations

import io
import json
import os
import pickle
import tempfile
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from support.stored_arrays import ARRAYS, HEADERS, assert_same, put, some_arrays
from widestreet._src.persistence import archive
from widestreet._src.persistence.archive import ArchiveError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.street"


def saved(path) -> bytes:
    archive.write(path, {"kernel": "rbf", "gamma": 0.5}, some_arrays())
    return path.read_bytes()


# -- round trips -----------------------------------------------------------------------------------


@given(header=HEADERS, arrays=ARRAYS)
def test_what_is_written_is_read(header, arrays):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.street")
        archive.write(path, header, arrays)
        found, others = archive.read(path)
    assert found == header
    assert_same(others, arrays)


def test_infinities_in_the_header(path):
    archive.write(path, {"C": np.inf, "gap": np.nan}, {})
    header, _ = archive.read(path)
    assert header["C"] == np.inf
    assert np.isnan(header["gap"])


def test_an_archive_is_a_zip_of_json_and_npy(path):
    saved(path)
    with zipfile.ZipFile(path) as members:
        assert members.namelist() == [
            "header.json",
            "alpha.npy",
            "labels.npy",
            "rows/data.npy",
            "rows/indices.npy",
            "rows/indptr.npy",
        ]
        header = json.loads(members.read("header.json"))
        assert (header["schema"], header["version"]) == (archive.SCHEMA, archive.VERSION)
        assert np.load(io.BytesIO(members.read("labels.npy"))).dtype == "<U6"


def test_equal_contents_are_equal_files(path, tmp_path):
    assert saved(path) == saved(tmp_path / "other")


def test_large_arrays_are_read_in_pieces(path, rng):
    arrays = {"X": rng.normal(size=(700, 500)), "F": np.asfortranarray(rng.normal(size=(400, 900)))}
    archive.write(path, {}, arrays)
    assert_same(archive.read(path)[1], arrays)


def test_members_of_gigabytes_have_wide_sizes(path, monkeypatch):
    monkeypatch.setattr(archive, "_ZIP64_SIZE", 1)
    saved(path)
    assert_same(archive.read(path)[1], some_arrays())


def test_a_new_archive_takes_the_place_of_the_old(path):
    saved(path)
    archive.write(path, {"new": True}, {})
    assert archive.read(path) == ({"new": True}, {})
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    ("header", "arrays"), [({"bad": {1: 2}}, {}), ({}, {"bad": [1]}), ({}, {"a/b": np.zeros(1)})]
)
def test_what_cannot_be_stored_leaves_the_old_archive(path, header, arrays):
    before = saved(path)
    with pytest.raises((TypeError, ValueError)):
        archive.write(path, header, arrays)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


# -- places ----------------------------------------------------------------------------------------


def test_places_that_do_not_exist(tmp_path):
    path = tmp_path / "nowhere" / "model.street"
    with pytest.raises(FileNotFoundError, match=r"folder must exist.*nowhere.*model\.street"):
        archive.write(path, {}, {})
    with pytest.raises(FileNotFoundError, match=r"model\.street"):
        archive.read(path)


def test_a_folder_is_no_archive(tmp_path):
    folder = tmp_path / "folder.street"
    folder.mkdir()
    with pytest.raises(OSError, match=r"folder\.street"):
        archive.write(folder, {}, {})
    assert os.listdir(tmp_path) == ["folder.street"]
    with pytest.raises(OSError, match=r"folder\.street"):
        archive.read(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_place_where_we_may_not_write(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match=r"be writable.*model\.street"):
        archive.write(tmp_path / "model.street", {}, {})
    tmp_path.chmod(0o700)


# -- files that are not what they should be --------------------------------------------------------


def members_of(path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as members:
        return {name: members.read(name) for name in members.namelist()}


def pack(path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)


def with_header(path, **changes) -> None:
    """The archive with another header.json."""
    members = members_of(path)
    header = json.loads(members["header.json"]) | changes
    pack(path, members | {"header.json": json.dumps(header).encode()})


@pytest.mark.parametrize("content", [b"", b"P", b"street", pickle.dumps({"a": 1})])
def test_a_file_that_is_no_archive(path, content):
    path.write_bytes(content)
    with pytest.raises(
        ArchiveError, match=r"model\.street is not an archive.*not a zip.*saved model"
    ):
        archive.read(path)


def test_files_of_other_formats_are_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.skops", "w") as members:
        members.writestr("schema.json", "{}")
    with pytest.raises(ArchiveError, match=r"file of skops: read it with skops\.io\.load"):
        archive.read(tmp_path / "model.skops")
    (tmp_path / "model.onnx").write_bytes(b"\x08\x09\x12\x0awidestreet")
    with pytest.raises(ArchiveError, match=r"writes but does not read"):
        archive.read(tmp_path / "model.onnx")


def test_a_zip_that_is_no_archive(path):
    pack(path, {"readme.txt": b"hello"})
    with pytest.raises(ArchiveError, match=r"not an archive.*without a header\.json"):
        archive.read(path)
    saved(path)
    with_header(path, schema="alley")
    with pytest.raises(ArchiveError, match=r"not an archive.*schema is 'alley'"):
        archive.read(path)


def test_a_later_version(path):
    saved(path)
    with_header(path, version=archive.VERSION + 1)
    with pytest.raises(ArchiveError, match=r"model\.street has version 2 .*update widestreet"):
        archive.read(path)


@pytest.mark.parametrize("name", ["alpha", "rows/indptr"])
def test_a_missing_array(path, name):
    saved(path)
    members = members_of(path)
    del members[f"{name}.npy"]
    pack(path, members)
    with pytest.raises(ArchiveError, match=rf"model\.street lacks the array '{name}'.*save"):
        archive.read(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "1"},
        {"header": [1]},
        {"arrays": []},
        {"arrays": {"alpha": 3}},
        {"arrays": {"alpha": {"kind": "pickle"}}},
        {"arrays": {"alpha": {"kind": "csr_matrix", "shape": [10**12, 2]}}},
        {"arrays": {"rows": {"kind": "csr_matrix", "shape": [10**12, 2]}}},
        {"arrays": {"rows": {"kind": "csr_matrix", "shape": "22"}}},
    ],
)
def test_a_header_that_was_tampered_with(path, changes):
    saved(path)
    with_header(path, **changes)
    with pytest.raises(ArchiveError, match=r"model\.street (is damaged|lacks)"):
        archive.read(path)


def test_other_members_are_ignored(path):
    saved(path)
    pack(path, members_of(path) | {"readme.txt": b"hello", "rows/": b""})
    assert_same(archive.read(path)[1], some_arrays())


def test_cut_anywhere(path):
    content = saved(path)
    for size in range(len(content)):
        put(path, content[:size])
        with pytest.raises(ArchiveError, match=r"is damaged .*copy it again|is not an archive"):
            archive.read(path)


def test_flipped_bits(path):
    """Each byte, in a random bit: noticed, or without meaning, as the date of a member is."""
    content = saved(path)
    rng = np.random.default_rng(3)
    noticed = 0
    for at in range(len(content)):
        flipped = bytearray(content)
        flipped[at] ^= 1 << rng.integers(8)
        put(path, flipped)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of NumPy and Python, about the text of headers
                header, arrays = archive.read(path)
        except ArchiveError as error:
            assert str(path) in str(error)  # noqa: PT017 - not every flip is an error
            noticed += 1
        else:
            assert header == {"kernel": "rbf", "gamma": 0.5}
            assert_same(arrays, some_arrays())
    assert noticed > len(content) // 2


def test_a_flipped_bit_in_a_large_array(path, rng):
    archive.write(path, {}, {"X": rng.normal(size=300_000)})
    content = bytearray(path.read_bytes())
    content[2_000_000] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match=r"is damaged \(Bad CRC-32 for file 'X\.npy'\)"):
        archive.read(path)


# -- files that mean harm --------------------------------------------------------------------------


class Evil:
    def __reduce__(self):
        return os.mkdir, (self.folder,)

    def __init__(self, folder) -> None:
        self.folder = folder


def test_nothing_is_unpickled(path, tmp_path):
    saved(path)
    stream = io.BytesIO()
    np.save(stream, np.array([Evil(str(tmp_path / "evil"))], object), allow_pickle=True)
    pack(path, members_of(path) | {"alpha.npy": stream.getvalue()})
    with pytest.raises(ArchiveError, match="is damaged"):
        archive.read(path)
    assert not (tmp_path / "evil").exists()


def test_a_small_file_cannot_ask_for_much_memory(path):
    archive.write(path, {}, {"X": np.zeros(10**6)})
    members = members_of(path)
    pack(path, members, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**5
    with pytest.raises(ArchiveError, match="without compression"):
        archive.read(path)


def test_members_that_overlap(path):
    """One member under many names: each is as large as the file, together they are much larger."""
    archive.write(path, {}, {"X": np.zeros(1000)})
    with zipfile.ZipFile(path, "a") as file:
        (info,) = (i for i in file.infolist() if i.filename == "X.npy")
        for k in range(5):
            other = zipfile.ZipInfo(f"Y{k}.npy")
            other.file_size, other.compress_size = info.file_size, info.compress_size
            other.CRC, other.header_offset = info.CRC, info.header_offset
            file.filelist.append(other)
            file.NameToInfo[other.filename] = other
        file._didModify = True
    with pytest.raises(ArchiveError, match="larger than the file"):
        archive.read(path)


def test_two_members_of_one_name(path):
    saved(path)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as file:
        warnings.simplefilter("ignore")
        file.writestr("alpha.npy", b"")
    with pytest.raises(ArchiveError, match="two members of the same name"):
        archive.read(path)


def test_sparse_rows_with_indices_outside(path):
    """They would let native code read where it must not."""
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.indices[1] = 7
    archive.write(path, {}, {"rows": matrix})
    with pytest.raises(ArchiveError, match="is damaged"):
        archive.read(path)


def test_a_reason_does_not_quote_the_whole_file(path):
    content = bytearray(saved(path))
    at = content.index(b"labels.npy") - 4  # the length of this name in its local header
    content[at : at + 2] = (2000).to_bytes(2, "little")
    path.write_bytes(bytes(content) + bytes(4000))
    with pytest.raises(ArchiveError) as caught:
        archive.read(path)
    assert len(str(caught.value)) < 500
