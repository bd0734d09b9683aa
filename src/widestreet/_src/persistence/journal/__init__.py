"""Journals: an append-only file of records, each on the disk before its `append` returns.

A journal continues an archive. The archive holds a model and says which journal continues it
(`base`, a UUID) and how many records it already contains (`start`); what was done to the model
since is in the journal, and done again when both are loaded:

    header, arrays = archive.read("model.street")
    journal = Journal.resume("model.journal", header["base"], header["start"])
    for record in records("model.journal", header["base"], header["start"]):
        ...                                     # do it again
    journal.append("forget", {}, {"ids": ids})  # and go on

When a journal has become long, save an archive with ``start = journal.sequence`` and call
`Journal.restart`, in this order: whenever the process ends, the two files on the disk belong
together. Two histories of one model need two bases.

A process or machine that stops while a record is written leaves a torn one at the end. It was never
acknowledged; it is dropped, with a warning. Damage anywhere else is an error: if intact records
follow a damaged one, the file was not cut short but changed.
"""

from widestreet._src.persistence.journal.reading import (
    VERSION,
    JournalError,
    JournalWarning,
    Record,
    records,
)
from widestreet._src.persistence.journal.writing import Journal

__all__ = ["VERSION", "Journal", "JournalError", "JournalWarning", "Record", "records"]
