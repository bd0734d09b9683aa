"""A page: sections of text, tables and figures, as Markdown with CSV and PNG files beside it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from widestreet._experiments.harness.records import NOISY, Record, answers, disturbed
from widestreet._experiments.harness.tables import Cell, Spread, markdown


@dataclass(frozen=True)
class Table:
    """A table; a CSV file of that name has its numbers.

    Attributes
    ----------
    name : str
        Name of the file, without its ending.
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
        """Write CSV; a column of several runs becomes two, their mean and their deviation."""
        split = [
            any(isinstance(line[i], Spread) for line in self.lines) for i in range(len(self.head))
        ]
        head = [
            name
            for name, two in zip(self.head, split, strict=True)
            for name in ([name, f"{name}: deviation"] if two else [name])
        ]
        with (folder / f"{self.name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(head)
            for line in self.lines:
                cells = zip(line, split, strict=True)
                writer.writerow([value for cell, two in cells for value in _values(cell, two)])


def _values(cell: Cell, two: bool) -> list[Any]:
    """Return what a cell is in the CSV file."""
    if isinstance(cell, Spread):
        return [cell.mean, "" if cell.deviation is None else cell.deviation]
    return [cell, ""] if two else [cell]


@dataclass(frozen=True)
class Figure:
    """A PNG file: its name without the ending, its title, and a function that draws it."""

    name: str
    title: str
    draw: Callable[[], Any]


Part: TypeAlias = str | Table | Figure


@dataclass(frozen=True)
class Section:
    """A heading and what follows: text (Markdown), tables and figures, in this order."""

    title: str
    parts: Sequence[Part]


def write(sections: Iterable[Section], title: str, page: Path, beside: Path) -> None:
    """Write the page, and the tables and figures into a folder beside it.

    Without matplotlib there are no figures, and the page says so. A section without parts is left
    out.
    """
    beside.mkdir(parents=True, exist_ok=True)
    page.parent.mkdir(parents=True, exist_ok=True)
    same = beside.resolve() == page.parent.resolve()
    where = "" if same else f"{beside.resolve().relative_to(page.parent.resolve())}/"
    drawing = find_spec("matplotlib") is not None
    text = [f"# {title}"]
    for section in sections:
        if any(section.parts):
            text.append(f"## {section.title}" if section.title else "")
            text += [_written(part, beside, where, drawing) for part in section.parts]
    page.write_text("\n\n".join(part for part in text if part) + "\n", encoding="utf-8")


def _written(part: Part, folder: Path, where: str, drawing: bool) -> str:
    """Write the file of a part and return its Markdown."""
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
    """Write every number (to six digits) and word of the records as CSV, a line for each."""
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


def machine_section(machine: dict[str, str], records: Iterable[Record]) -> Section:
    """Return the machine, the versions, and whether the machine was quiet."""
    table = markdown(["", ""], [[name, value] for name, value in machine.items()])
    known = [r for r in answers(records) if r.get("others") is not None]
    noise = (
        f"During {sum(map(disturbed, known))} of {len(known)} measurements of half a second or "
        f"more, other processes used more than {NOISY:g} CPUs (`others` in results.csv)."
    )
    return Section("Machine", [table, noise if known else ""])
