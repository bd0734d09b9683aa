"""Arrays of all kinds that archives and journals have to give back as they were."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(endianness="?"),
    hnp.datetime64_dtypes(endianness="?"),
    hnp.timedelta64_dtypes(endianness="?"),
    hnp.byte_string_dtypes(endianness="?"),
    hnp.unicode_string_dtypes(endianness="?"),
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@st.composite
def ndarrays(draw):
    """Any type, byte order and shape; C, Fortran and no order at all."""
    array = draw(hnp.arrays(draw(DTYPES), draw(SHAPES)))
    match draw(st.integers(0, 3)):
        case 0:
            return np.asfortranarray(array)
        case 1:
            return array[..., ::2] if array.ndim else array
        case 2:
            return array.T
    return array


@st.composite
def objects(draw):
    """Labels in an object array, as pandas makes them."""
    text = st.text(st.characters(exclude_characters="\0"), max_size=5)
    integers = st.integers(-(2**63), 2**63 - 1)
    kind = draw(st.sampled_from([text, integers, st.booleans(), st.floats(allow_nan=False)]))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4))
    array = np.empty(shape, object)
    for index in np.ndindex(shape):
        array[index] = draw(kind)
    return array


@st.composite
def csr(draw):
    """Both classes and both widths of indices; stored zeros; columns in any order."""
    rows, columns = draw(st.integers(0, 5)), draw(st.integers(1, 6))
    lengths = draw(st.lists(st.integers(0, columns), min_size=rows, max_size=rows))
    order = st.permutations(range(columns))
    indices = [i for length in lengths for i in draw(order)[:length]]
    dtype = draw(st.sampled_from(["<f8", "<f4", "<i4", "|b1", "<c16"]))
    data = draw(hnp.arrays(dtype, len(indices)))
    make = draw(st.sampled_from([sparse.csr_matrix, sparse.csr_array]))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    matrix = make((data, indices, indptr), shape=(rows, columns))
    width = draw(st.sampled_from([np.int32, np.int64]))
    matrix.indices, matrix.indptr = matrix.indices.astype(width), matrix.indptr.astype(width)
    return matrix


ARRAYS = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,5}", fullmatch=True),
    st.one_of(ndarrays(), objects(), csr()),
    max_size=4,
)
HEADERS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


def assert_same(found, expected) -> None:
    """The same in every bit, and in all that NumPy knows of an array."""
    assert list(found) == list(expected)
    for name, one in expected.items():
        other = found[name]
        if sparse.issparse(one):
            assert type(other) is type(one)
            assert other.shape == one.shape
            parts = ("data", "indices", "indptr")
            assert_same({p: getattr(other, p) for p in parts}, {p: getattr(one, p) for p in parts})
            continue
        assert isinstance(other, np.ndarray)
        assert (other.dtype.str, other.shape) == (one.dtype.str, one.shape)
        if one.dtype == object:
            assert other.tolist() == one.tolist()
            assert [type(v) for v in other.flat] == [type(v) for v in one.flat]
            continue
        assert other.tobytes() == one.tobytes()
        assert other.flags.writeable
        assert other.flags.aligned
        if one.flags.forc:
            assert other.flags.f_contiguous == one.flags.f_contiguous
            assert other.flags.c_contiguous == one.flags.c_contiguous


def some_arrays() -> dict:
    """One of each kind, small."""
    return {
        "alpha": np.array([0.5, -1.0, np.nan]),
        "labels": np.array(["a", "street"], object),
        "rows": sparse.csr_matrix(np.array([[0.0, 2.0], [3.0, 0.0]])),
    }


def put(path, content: bytes) -> None:
    """A new file with this content: ext4 waits for the disk when an old one is overwritten."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
