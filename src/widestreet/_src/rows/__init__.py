"""Storage of rows of data."""

from widestreet._src.rows.base import Rows, Vectors
from widestreet._src.rows.csr import CsrRows
from widestreet._src.rows.dense import DenseRows
from widestreet._src.rows.duplicate_rows import Merged, merge_duplicates, without_empty
from widestreet._src.rows.lent import LentRows
from widestreet._src.rows.on_device import DeviceRows
from widestreet._src.rows.precomputed import KernelRows
from widestreet._src.rows.wrap import as_rows

__all__ = [
    "CsrRows",
    "DenseRows",
    "DeviceRows",
    "KernelRows",
    "LentRows",
    "Merged",
    "Rows",
    "Vectors",
    "as_rows",
    "merge_duplicates",
    "without_empty",
]
