"""Generated parts of pages."""

from __future__ import annotations

import pytest

from widestreet._experiments.harness.marks import marks, placed


def test_a_page_keeps_what_is_outside_the_marks():
    (a, b), (c, d) = marks("one"), marks("two")
    page = f"before\n{a}\nold\n{b}\nbetween\n{c}\nother\n{d}\nafter\n"
    found = placed(page, "one", "new")
    assert found == f"before\n{a}\nnew\n{b}\nbetween\n{c}\nother\n{d}\nafter\n"
    with pytest.raises(ValueError, match="no marks"):
        placed("nothing", "one", "new")
