"""Check the links and images of a built site: python tools/check_links.py build/docs.

Every relative address must be a file of the site, and every anchor an id in it. Addresses of other
sites are left to `make docs-links`.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The addresses that a page refers to, and its ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.addresses.append(value)
            elif name in ("id", "name") and value:
                self.ids.add(value)


@cache
def read(path: Path) -> Page:
    """Return a parsed page."""
    return Page(path.read_text(encoding="utf-8"))


def broken(path: Path) -> list[str]:
    """Return the addresses on a page that lead nowhere."""
    found = []
    for address in read(path).addresses:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.is_file() or (
            parts.fragment and target.suffix == ".html" and parts.fragment not in read(target).ids
        ):
            found.append(address)
    return found


def main() -> int:
    """Print the broken links of all pages."""
    root = Path(sys.argv[1]).resolve()
    pages = sorted(path for path in root.rglob("*.html") if "_static" not in path.parts)
    wrong = [f"{path.relative_to(root)}: {address}" for path in pages for address in broken(path)]
    links = sum(len(read(path).addresses) for path in pages)
    print(*wrong, f"{links:,} links of {len(pages)} pages, {len(wrong)} broken", sep="\n")
    return int(bool(wrong) or not pages)


if __name__ == "__main__":
    sys.exit(main())
