"""Pages of which a part is generated: the text between two marks."""

from __future__ import annotations

import re


def marks(name: str) -> tuple[str, str]:
    """Return the marks before and after the generated part of this name."""
    return f"<!-- {name} -->", f"<!-- end of {name} -->"


def placed(page: str, name: str, text: str) -> str:
    """Return a page with a text between the marks of a name."""
    begin, end = marks(name)
    both = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    if not both.search(page):
        raise ValueError(f"the page has no marks {begin!r} and {end!r}")
    return both.sub(lambda _: f"{begin}\n{text}\n{end}", page)
