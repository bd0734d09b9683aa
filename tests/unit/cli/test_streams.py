"""Results and remarks go to different streams."""

from __future__ import annotations

from widestreet.cli.streams import remark, result


def test_two_streams(capsys):
    result("found")
    result("more", end="")
    remark("doing")
    out, err = capsys.readouterr()
    assert out == "found\nmore"
    assert err == "doing\n"
