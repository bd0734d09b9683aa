"""HTML from Python: elements, tables and numbers, in which all text is escaped.

Every number of the page is an element <data data-name=... value=...>, whose value has all digits.
So programs can read the page, and tests compare it with the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, isfinite, log10
from typing import Any

import numpy as np

_VOID = frozenset({"meta", "br", "circle", "line", "path", "polyline", "rect"})
_DIGITS = 4  # significant ones of the numbers that are shown
_LONGEST_TEXT = 80  # characters of names and labels


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


@dataclass(frozen=True)
class Section:
    """One section of the page.

    Attributes
    ----------
    key : str
        Its anchor.
    title : str
    content : Markup
    """

    key: str
    title: str
    content: Markup


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : str
    *children : object
        Markup, or text, which is escaped.
    **attributes : object
        Values are escaped. None leaves an attribute out; a trailing underscore is removed, and the
        others become hyphens.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not children:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(parts: Iterable[Any]) -> Markup:
    """Return parts in a row; those that are no Markup are escaped."""
    return Markup(
        "".join(part if isinstance(part, Markup) else escape(str(part)) for part in parts)
    )


def paragraph(*parts: Any, **attributes: Any) -> Markup:
    """Return a paragraph."""
    return tag("p", *parts, **attributes)


def shortened(value: Any) -> str:
    """Return the text of a label or a name, cut if it is long."""
    text = str(value)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def number(name: str, value: Any, shown: str | None = None) -> Markup:
    """Return a number with its name and all of its digits.

    Parameters
    ----------
    name : str
        What programs find it by, such as "certificate.gap".
    value : float or int
    shown : str, default=None
        Text for readers; None for the number with a few digits.
    """
    value = value.item() if isinstance(value, np.generic) else value
    text = in_digits(value) if shown is None else shown
    return tag("data", text, data_name=name, value=repr(value))


def in_digits(value: float) -> str:
    """Return a number for readers."""
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if not isfinite(value) or (size != 0 and not 1e-3 <= size < 1e7):
        return f"{value:.{_DIGITS - 1}g}"
    decimals = max(0, _DIGITS - 1 - (floor(log10(size)) if size else 0))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(name: str, part: float) -> Markup:
    """Return a part of a whole as a percentage."""
    return number(name, part, f"{100 * part:.1f} %")


def seconds(name: str, value: float) -> Markup:
    """Return a time in the unit that suits it."""
    return number(name, value, in_time(value))


def in_time(value: float) -> str:
    """Return a number of seconds in the unit that suits it."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if value >= 2 * size:
            return f"{value / size:.3g} {unit}"
    return f"{1000 * value:.3g} ms"


def table(
    caption: str, head: Sequence[Any], rows: Iterable[Sequence[Any]], *, named: bool = True
) -> Markup:
    """Return a table.

    Parameters
    ----------
    caption : str
    head : sequence
        Titles of the columns; empty for none.
    rows : iterable of sequence
        Cells.
    named : bool, default=True
        Whether the first cell of each row is its title.
    """
    top = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head)))
    body = [
        tag("tr", *(_cell(cell, named and column == 0) for column, cell in enumerate(row)))
        for row in rows
    ]
    return tag(
        "div",
        tag("table", tag("caption", caption), top if head else "", tag("tbody", *body)),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def _cell(content: Any, title: bool) -> Markup:
    return tag("th", content, scope="row") if title else tag("td", content)


def details(summary: str, *content: Any) -> Markup:
    """Return content that is shown on demand."""
    return tag("details", tag("summary", summary), *content)


def beside(picture: Markup, *others: Markup) -> Markup:
    """Return a picture or text with its numbers beside it."""
    return tag("div", picture, tag("div", *others), class_="beside")
