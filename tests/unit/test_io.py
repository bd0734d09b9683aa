"""The public names of widestreet.io."""

from __future__ import annotations

from widestreet import io


def test_the_error_of_a_damaged_file_is_a_value_error():
    assert issubclass(io.ArchiveError, ValueError)
    assert io.ArchiveError.__module__ == "widestreet.io"
