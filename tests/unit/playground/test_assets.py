"""The files of the page."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from widestreet._src import playground
from widestreet._src.playground.assets import script, text_of


def test_the_script_is_one_module():
    assert re.findall(r"^export .*", script(), re.MULTILINE) == ["export default { render };"]
    assert not re.search(r"^\s*import\b|import\(", script(), re.MULTILINE)


@pytest.mark.parametrize(
    "name", [file.name for file in (files(playground) / "static").iterdir() if file.is_file()]
)
def test_no_file_needs_the_network(name):
    text = text_of(name).replace("http://www.w3.org/2000/svg", "")
    assert text.strip()
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\(", text)
