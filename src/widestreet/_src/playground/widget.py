"""The page of the playground as a widget of notebooks. Importing this module needs anywidget."""

from __future__ import annotations

from typing import Any

import anywidget

from widestreet._src.playground.assets import script, text_of
from widestreet._src.playground.session import Session


class Playground(anywidget.AnyWidget):
    """The playground as a notebook widget.

    Parameters
    ----------
    session : Session

    Attributes
    ----------
    session : Session
    """

    _esm = script()
    _css = text_of("page.css")

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.on_msg(self._answer)

    @property
    def estimator(self) -> Any:
        """The estimator of the present tab, trained on its points."""
        return self.session.board.learner.estimator

    def _answer(self, widget: Any, content: Any, buffers: Any) -> None:
        """Carry out a message of the page and send the state back."""
        number = content.get("number") if isinstance(content, dict) else None
        try:
            if number is None:
                raise ValueError("a message needs a number")
            answer: dict[str, Any] = {"state": self.session.handle(content.get("message"))}
        except (ValueError, RuntimeError) as error:
            answer = {"error": str(error)}
        self.send({"number": number} | answer)
