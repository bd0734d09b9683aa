"""A progress bar for work whose finished part is known."""

from __future__ import annotations

from widestreet._src.reporting.bar import progress_bar


def test_nothing_is_drawn_unless_asked_for(capsys):
    with progress_bar("working", shown=False) as observe:
        observe(0.5)
    assert capsys.readouterr() == ("", "")


def test_the_finished_part_is_drawn(capsys):
    with progress_bar("working", shown=True) as observe:
        observe(0.5)
        observe(1.0)
    out, err = capsys.readouterr()
    assert out == ""
    assert "working" in err
    assert "100%" in err
