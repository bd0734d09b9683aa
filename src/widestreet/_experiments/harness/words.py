"""Text with places for numbers, and for words that are computed from them.

A place `{name}` holds a value. A place `{name:WORD {other}}` holds the words that compare the two
values, so that a page cannot call a number lower that is not:

than
    "much lower than", "lower than", "slightly lower than", "equal to", "slightly higher than" ...
faster
    for times: "much faster than", "faster than", "about as fast as", "slower than" ...

Words compare the values as they are printed.
"""

from __future__ import annotations

import string
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

MUCH = 2.0  # a ratio from which on a difference is large
SLIGHT = 1.05  # a ratio up to which a difference is small
WIDTH = 100  # characters of a line

DATA = """\
Real data are files with the names that their publishers gave them, anywhere in the folder
WIDESTREET_DATA or its subfolders, packed or not; `--list` says what is missing, and `--download`
fetches what scikit-learn can fetch. An interrupted run continues where it stopped."""


def number(text: str) -> float:
    """Read a printed number; of "more than 3" the 3."""
    return float(text.removeprefix("more than ").replace(",", "").rstrip("%"))


def than(a: float, b: float) -> str:
    """Return how a compares with b in size."""
    if a == b:
        return "equal to"
    word = "lower" if a < b else "higher"
    ratio = _ratio(a, b)
    if ratio is None:
        return f"{word} than"
    return f"{'much ' if ratio >= MUCH else 'slightly ' if ratio <= SLIGHT else ''}{word} than"


def faster(a: float, b: float) -> str:
    """Return how a method that takes time a compares with one that takes b."""
    ratio = _ratio(a, b) or 1.0
    if ratio <= SLIGHT:
        return "about as fast as"
    return f"{'much ' if ratio >= MUCH else ''}{'faster' if a < b else 'slower'} than"


def _ratio(a: float, b: float) -> float | None:
    """Return the larger of two positive numbers divided by the smaller; None for others."""
    return max(a, b) / min(a, b) if min(a, b) > 0 else None


WORDS: dict[str, Callable[[float, float], str]] = {"than": than, "faster": faster}


class _Filler(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        word, _, other = format_spec.partition(" ")
        if word in WORDS:
            return WORDS[word](number(value), number(other))
        return str(super().format_field(value, format_spec))


def fill(text: str, facts: Mapping[str, str]) -> str:
    """Return paragraphs with their places filled; KeyError names a value that is missing."""
    filled = _Filler().vformat(text.strip(), (), facts)
    wrap = partial(textwrap.fill, width=WIDTH, break_on_hyphens=False, break_long_words=False)
    return "\n\n".join(wrap(" ".join(part.split())) for part in filled.split("\n\n"))


def named(names: Sequence[str]) -> str:
    """Return a list of names."""
    return ", ".join(f"`{name}`" for name in names) or "none"


def share(some: Collection[Any], every: Collection[Any]) -> str:
    """Return how many of all there are: "all 12", "9 of 12" or "none of 12"."""
    if len(some) == len(every):
        return f"all {len(every)}"
    return f"{len(some) or 'none'} of {len(every)}"
