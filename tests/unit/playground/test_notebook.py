"""ws.play()."""

from __future__ import annotations

import sys

import pytest

import widestreet as ws


def test_the_error_without_anywidget_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "widestreet._src.playground.widget", raising=False)
    with pytest.raises(ImportError, match=r'pip install "widestreet\[notebook\]"'):
        ws.play()


def test_an_unknown_tab():
    pytest.importorskip("anywidget")
    with pytest.raises(ValueError, match="tab must be one of"):
        ws.play("cellar")


def test_a_widget_of_a_tab():
    pytest.importorskip("anywidget")
    assert ws.play("one-class").session.tab == "one-class"
