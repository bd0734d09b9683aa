"""The report: sections of words, tables and figures, as Markdown with CSV and PNG beside it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from widestreet.benchmarks.records import Record
from widestreet.benchmarks.report import relative
from widestreet.benchmarks.tables import markdown

from .spread import Spread

Cell: TypeAlias = str | Spread


@dataclass(frozen=True)
class Table:
    """A table; a CSV file of that name has its numbers.

    Attributes
    ----------
    name : str
        Of the file, without its ending.
    head : sequence of str
    lines : sequence of sequences
        Of text, or of numbers of several runs.
    long : bool
        Whether it is too long for the page, which then only names the file.
    """

    name: str
    head: Sequence[str]
    lines: Sequence[Sequence[Cell]]
    long: bool = False

    def markdown(self) -> str:
        return markdown(self.head, [[str(cell) for cell in line] for line in self.lines])

    def write(self, folder: Path) -> None:
        """As CSV; a column of several runs becomes two, their mean and their deviation."""
        split = [any(isinstance(line[i], Spread) for line in self.lines) for i in self._columns()]
        head = [
            name
            for name, two in zip(self.head, split, strict=True)
            for name in ([name, f"{name}: deviation"] if two else [name])
        ]
        with (folder / f"{self.name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(head)
            for line in self.lines:
                writer.writerow(
                    [
                        value
                        for cell, two in zip(line, split, strict=True)
                        for value in _values(cell, two)
                    ]
                )

    def _columns(self) -> range:
        return range(len(self.head))


def _values(cell: Cell, two: bool) -> list[Any]:
    """What a cell is in the CSV file."""
    if isinstance(cell, Spread):
        return [cell.mean, "" if cell.deviation is None else cell.deviation]
    return [cell, ""] if two else [cell]


@dataclass(frozen=True)
class Figure:
    """A picture.

    Attributes
    ----------
    name : str
        Of the PNG file, without its ending.
    title : str
        What it shows, for those who do not see it.
    draw : callable
        Makes the figure of matplotlib.
    """

    name: str
    title: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Section:
    """A heading and what follows: words (Markdown), tables and figures, in this order."""

    title: str
    parts: Sequence[str | Table | Figure]


def write(sections: Iterable[Section], title: str, page: Path, beside: Path) -> None:
    """Write the page, and the tables and figures into a folder beside it.

    Without matplotlib there are no figures, and the page says so.
    """
    beside.mkdir(parents=True, exist_ok=True)
    page.parent.mkdir(parents=True, exist_ok=True)
    where = relative(beside, page)
    drawing = find_spec("matplotlib") is not None
    words = [f"# {title}"]
    for section in sections:
        words.append(f"## {section.title}" if section.title else "")
        words += [_written(part, beside, where, drawing) for part in section.parts]
    page.write_text("\n\n".join(word for word in words if word) + "\n", encoding="utf-8")


def _written(part: str | Table | Figure, folder: Path, where: str, drawing: bool) -> str:
    """A part as Markdown; its file is written."""
    if isinstance(part, str):
        return part.strip("\n")
    if isinstance(part, Table):
        part.write(folder)
        link = f"The numbers: [{part.name}.csv]({where}{part.name}.csv)."
        return link if part.long else part.markdown()
    if not drawing:
        return f"(No picture without matplotlib: {part.title}.)"
    part.draw().savefig(folder / f"{part.name}.png", dpi=90)
    return f"![{part.title}]({where}{part.name}.png)"


def write_records(records: Iterable[Record], path: Path) -> None:
    """Everything that is one number (to six digits) or one word, as CSV: a line for each fit."""
    rows = []
    for record in records:
        flat = record | {"method": record["method"]["name"]}
        single = {k: v for k, v in flat.items() if not isinstance(v, list | dict)}
        rows.append({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in single.items()})
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
