"""What a page says: its numbers by their names, its text, its elements."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from html.parser import HTMLParser
from math import inf, nan
from typing import Any

VOID = {"meta", "br"}


@dataclass
class Page(HTMLParser):
    """A parsed page, whose elements must be closed in the order in which they were opened."""

    numbers: dict[str, Any] = field(default_factory=dict)
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    @classmethod
    def of(cls, text: str) -> Page:
        page = cls()
        page.feed(text)
        page.close()
        assert page._open == []
        return page

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "data":
            assert found["data-name"] not in self.numbers
            self.numbers[found["data-name"]] = _number(found["value"])

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def named(self, tag: str) -> list[dict[str, str]]:
        """The attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


def _number(text: str) -> Any:
    return {"nan": nan, "inf": inf}.get(text) or ast.literal_eval(text)
