"""Read-only rows of a data set: dense, sparse, or rows of a precomputed kernel matrix."""

from widestreet._src.rows.memory import CsrRows, DenseRows, KernelRows, Rows, Vectors, as_rows
from widestreet._src.rows.merge import Merged, merge_duplicates, without_empty

__all__ = [
    "CsrRows",
    "DenseRows",
    "KernelRows",
    "Merged",
    "Rows",
    "Vectors",
    "as_rows",
    "merge_duplicates",
    "without_empty",
]
