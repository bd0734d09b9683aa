"""Small tables written to files of every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

FORMATS = ("parquet", "arrow", "feather", "csv", "tsv", "npy")


def write(path: Path, columns: dict[str, Any], *, chunk: int = 700) -> Path:
    """Write columns to a file in the format that its suffix tells."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    if path.suffix == ".npy":
        np.save(path, np.column_stack(list(columns.values())))
        return path
    table = pa.table(columns)
    match path.suffix:
        case ".parquet":
            pyarrow.parquet.write_table(table, path, row_group_size=chunk)
        case ".feather":
            pyarrow.feather.write_feather(table, path, chunksize=chunk)
        case ".arrow":
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
                out.write_table(table, max_chunksize=chunk)
        case ".csv" | ".tsv":
            tab = path.suffix == ".tsv"
            options = pyarrow.csv.WriteOptions(delimiter="\t" if tab else ",")
            pyarrow.csv.write_csv(table, path, options)
    return path


def columns_of(X: Any, y: Any = None, weight: Any = None) -> dict[str, Any]:
    """Return rows as named columns: x0, x1, ..., then label and weight if there are any."""
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    if y is not None:
        columns["label"] = y
    if weight is not None:
        columns["weight"] = weight
    return columns
