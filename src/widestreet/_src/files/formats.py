"""Readers of each file format: names of columns, number of rows, and batches.

This module alone imports pyarrow, and only when a file needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from widestreet._src.arrays import Floats, Real

BATCH_ROWS = 1 << 16
_TRANSPOSED_ROWS = 1 << 12  # rows of a batch that are transposed at a time, within the cache
_CSV_BLOCK_BYTES = 1 << 20
_CSV_TYPES = {"int64": "whole numbers", "double": "numbers", "bool": "booleans"}
_WRONG_TYPE = re.compile(  # as pyarrow says it; columns are counted from zero, in the file
    r"column #(?P<column>\d+): .*conversion error to (?P<type>\S+): invalid value (?P<value>'.*')"
)

Name: TypeAlias = str | int
Batch: TypeAlias = tuple[Real, Any, Floats | None]  # rows, labels or targets, weights


@dataclass(frozen=True)
class Columns:
    """Names of the columns that are read: features in their order, target and weight.

    Columns of .npy files are known by their numbers, those of tables by their names.
    """

    features: tuple[Name, ...]
    target: Name | None = None
    weight: Name | None = None
    dtype: str = "float32"

    @property
    def every(self) -> list[Name]:
        more = (name for name in (self.target, self.weight) if name is not None)
        return [*self.features, *more]


class Format(Protocol):
    """Reads files of one format."""

    def kinds(self, path: Path) -> Mapping[Name, str]:
        """Return the columns of a file: "" for numbers, else what they contain, such as "text"."""
        ...

    def count(self, path: Path) -> int:
        """Return the number of rows of a file."""
        ...

    def batches(self, path: Path, columns: Columns, size: int = BATCH_ROWS) -> Iterator[Batch]:
        """Yield the rows of a file in order, at most `size` at a time if the format allows it."""
        ...


def format_of(path: Path) -> Format:
    """Return the format that the name of a file tells, or raise ValueError."""
    name = path.name.lower()
    for suffixes, kind in _FORMATS.items():
        if name.endswith(suffixes):
            return kind
    known = ", ".join(suffix for suffixes in _FORMATS for suffix in suffixes)
    raise ValueError(f"path: {path} has none of the known suffixes: {known}")


def has_known_suffix(path: Path) -> bool:
    """Return whether the name of a file tells its format."""
    return any(path.name.lower().endswith(suffixes) for suffixes in _FORMATS)


_INDEX_OF_PANDAS = "__index_level_"  # begins the name of an index without a name

# -- tables by pyarrow -----------------------------------------------------------------------------


def _pyarrow(module: str) -> Any:
    """Import a module of pyarrow, or say how to install it."""
    from importlib import import_module

    try:
        import pyarrow

        return pyarrow if module == "pyarrow" else import_module(module)
    except ImportError:
        raise ImportError(
            "reading Parquet, Arrow and CSV files needs pyarrow, which is not installed: "
            'pip install "widestreet[files]"'
        ) from None


class Parquet:
    """Parquet files, one row group after the other."""

    def kinds(self, path: Path) -> Mapping[Name, str]:
        with _pyarrow("pyarrow.parquet").ParquetFile(path) as file:
            return _kinds(file.schema_arrow)

    def count(self, path: Path) -> int:
        with _pyarrow("pyarrow.parquet").ParquetFile(path) as file:
            return int(file.metadata.num_rows)

    def batches(self, path: Path, columns: Columns, size: int = BATCH_ROWS) -> Iterator[Batch]:
        with _pyarrow("pyarrow.parquet").ParquetFile(path) as file:
            for batch in file.iter_batches(size, columns=columns.every):
                yield _converted(batch, columns)


class Arrow:
    """Files in the format of Arrow, which is also that of Feather."""

    def kinds(self, path: Path) -> Mapping[Name, str]:
        with _pyarrow("pyarrow").memory_map(str(path)) as file:
            return _kinds(_pyarrow("pyarrow.ipc").open_file(file).schema)

    def count(self, path: Path) -> int:
        return int(_pyarrow("pyarrow.dataset").dataset(path, format="ipc").count_rows())

    def batches(self, path: Path, columns: Columns, size: int = BATCH_ROWS) -> Iterator[Batch]:
        ipc = _pyarrow("pyarrow.ipc")
        with _pyarrow("pyarrow").memory_map(str(path)) as file:
            schema = ipc.open_file(file).schema
            fields = sorted(schema.get_field_index(name) for name in columns.every)
            reader = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=fields))
            for k in range(reader.num_record_batches):
                batch = reader.get_batch(k)
                yield from _pieces(batch, columns, size)


class Csv:
    """Text files with a line of column names, separated by commas or tabs."""

    def _open(self, path: Path, **options: Any) -> Any:
        csv = _pyarrow("pyarrow.csv")
        tabs = ".tsv" in path.suffixes
        return csv.open_csv(
            path,
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK_BYTES),
            parse_options=csv.ParseOptions(delimiter="\t" if tabs else ","),
            convert_options=csv.ConvertOptions(strings_can_be_null=True, **options),
        )

    def kinds(self, path: Path) -> Mapping[Name, str]:
        with self._open(path) as reader:
            return _kinds(reader.schema)

    def count(self, path: Path) -> int:
        text = dict.fromkeys(list(self.kinds(path))[:1], _pyarrow("pyarrow").string())
        with self._open(path, include_columns=list(text), column_types=text) as reader:
            return sum(batch.num_rows for batch in reader)

    def batches(self, path: Path, columns: Columns, size: int = BATCH_ROWS) -> Iterator[Batch]:
        number = _pyarrow("pyarrow").float64()
        types = dict.fromkeys(columns.features, number)  # a later block may have fractions
        if columns.weight is not None:
            types[columns.weight] = number
        try:
            with self._open(path, include_columns=columns.every, column_types=types) as reader:
                for batch in reader:
                    yield from _pieces(batch, columns, size)
        except _pyarrow("pyarrow").ArrowInvalid as error:
            raise self._explained(path, error) from None

    def _explained(self, path: Path, error: Exception) -> ValueError:
        """Return an error that names the column with a value of another type than before."""
        said = _WRONG_TYPE.search(str(error))
        if said is None:
            return ValueError(str(error))
        with self._open(path) as reader:
            name = reader.schema.names[int(said["column"])]
        before = _CSV_TYPES.get(said["type"], f"values of type {said['type']}")
        return ValueError(
            f"column {name!r} contains {said['value']}, but its first rows contain {before}: let a "
            "column have either text or numbers; if some numbers have fractions, write 1 as 1.0"
        )


def _pieces(batch: Any, columns: Columns, size: int) -> Iterator[Batch]:
    """Yield a record batch as arrays of at most `size` rows."""
    for a in range(0, batch.num_rows, size):
        yield _converted(batch.slice(a, size), columns)


def _kinds(schema: Any) -> Mapping[Name, str]:
    """Return what the columns of a schema contain, without an index that pandas wrote."""
    names = [field for field in schema if not field.name.startswith(_INDEX_OF_PANDAS)]
    return {field.name: _kind(field.type) for field in names}


def _kind(kind: Any) -> str:
    types = _pyarrow("pyarrow.types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return ""
    if types.is_decimal(kind) or types.is_null(kind):
        return ""
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return "dates or times" if types.is_temporal(kind) else f"values of type {kind}"


def _converted(batch: Any, columns: Columns) -> Batch:
    """Return a record batch as arrays: rows in C order."""
    pa = _pyarrow("pyarrow")
    number = pa.float32() if columns.dtype == "float32" else pa.float64()
    values = [_numbers(batch, name, number) for name in columns.features]
    X = np.empty((batch.num_rows, len(values)), dtype=columns.dtype)
    for a in range(0, batch.num_rows, _TRANSPOSED_ROWS):
        block = slice(a, a + _TRANSPOSED_ROWS)
        for j, column in enumerate(values):
            X[block, j] = column[block]
    y = None if columns.target is None else _labels(batch.column(columns.target))
    weight = None
    if columns.weight is not None:
        weight = _numbers(batch, columns.weight, pa.float64())
    return X, y, weight


def _numbers(batch: Any, name: Name, number: Any) -> Any:
    """Return a column as floats; missing values are NaN."""
    column = batch.column(name)
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    if _pyarrow("pyarrow.types").is_boolean(column.type):
        column = column.cast("int8")
    return column.cast(number, safe=False).to_numpy(zero_copy_only=False)


def _labels(column: Any) -> Any:
    """Return a column as NumPy represents it: numbers, booleans, or an object array of text."""
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    return column.to_numpy(zero_copy_only=False)


# -- arrays ----------------------------------------------------------------------------------------


class Npy:
    """Arrays in NumPy's format, of two dimensions."""

    def load(self, path: Path) -> Any:
        """Return the array, mapped into memory."""
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise ValueError(f"path: {path} is not an array of numbers: {error}") from None
        if array.ndim != 2:
            raise ValueError(f"path: {path} has an array of shape {array.shape}, not of rows")
        return array

    def kinds(self, path: Path) -> Mapping[Name, str]:
        array = self.load(path)
        kind = "" if array.dtype.kind in "fiub" else f"values of type {array.dtype}"
        return dict.fromkeys(range(array.shape[1]), kind)

    def count(self, path: Path) -> int:
        return len(self.load(path))

    def batches(self, path: Path, columns: Columns, size: int = BATCH_ROWS) -> Iterator[Batch]:
        features = list(columns.features)
        for a in range(0, self.count(path), size):
            block: Any = np.array(self.load(path)[a : a + size])  # a new map: its pages are freed
            with np.errstate(over="ignore"):
                X = np.ascontiguousarray(block[:, features], dtype=columns.dtype)
            y = None if columns.target is None else block[:, columns.target].copy()
            weight = None
            if columns.weight is not None:
                weight = block[:, columns.weight].astype(np.float64)
            yield X, y, weight


_FORMATS: Mapping[tuple[str, ...], Format] = {
    (".parquet", ".pq"): Parquet(),
    (".arrow", ".feather", ".ipc"): Arrow(),
    (".csv", ".tsv", ".csv.gz", ".tsv.gz"): Csv(),
    (".npy",): Npy(),
}

__all__: Sequence[str] = [
    "BATCH_ROWS",
    "Batch",
    "Columns",
    "Format",
    "Name",
    "format_of",
    "has_known_suffix",
]
