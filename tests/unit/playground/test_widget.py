"""The widget answers the messages of its page."""

from __future__ import annotations

import pytest

pytest.importorskip("anywidget", reason="anywidget is not installed")

from widestreet._src.playground.assets import script
from widestreet._src.playground.session import Session
from widestreet._src.playground.widget import Playground


@pytest.fixture
def widget(monkeypatch):
    found = Playground(Session())
    found.sent = []
    monkeypatch.setattr(found, "send", found.sent.append)
    return found


def test_messages_are_answered_by_their_number(widget):
    before = len(widget.session.board.points)
    message = {"action": "add", "x": 0.1, "y": 0.2, "label": 0}
    widget._handle_custom_msg({"number": 7, "message": message}, [])
    [answer] = widget.sent
    assert answer["number"] == 7
    assert len(answer["state"]["points"]) == before + 1
    assert widget.estimator.n_rows_ == before + 1


@pytest.mark.parametrize("content", [None, [], {}, {"number": 1}, {"number": 1, "message": {}}])
def test_malformed_messages_are_answered_with_an_error(widget, content):
    widget._handle_custom_msg(content, [])
    [answer] = widget.sent
    assert answer["error"]
    assert "state" not in answer


def test_the_page_is_that_of_the_server(widget):
    assert str(widget._esm) == script()
