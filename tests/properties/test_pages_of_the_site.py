"""The pages of the documentation site: found, linked, complete, and with examples that run."""

from __future__ import annotations

import importlib
import re
from functools import cache
from inspect import ismodule
from pathlib import Path

import pytest

from support.checkout import ROOT

DOCS = ROOT / "docs"
MADE = {"gallery", "generated"}  # folders that the build writes
MODULES = ["", ".online", ".dask", ".io", ".model_selection", ".plots", ".strategies", ".datasets"]
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.DOTALL | re.MULTILINE)
PYTHON = re.compile(r"(<!-- not run:.*-->\n+)?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    found = [*DOCS.rglob("*.md"), *DOCS.glob("*.rst")]
    of_ours = (path for path in found if not MADE & set(path.relative_to(DOCS).parts))
    return sorted(path for path in of_ours if path.stem != "sg_execution_times")


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return path.relative_to(DOCS).with_suffix("").as_posix()


def documents() -> list[Path]:
    """All that is written in Markdown."""
    return [*(path for path in pages() if path.suffix == ".md"), *sorted(ROOT.glob("*.md"))]


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text_of(path)), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def entries(path: Path) -> list[str]:
    lines = [line.strip() for tree in TOCTREE.findall(text_of(path)) for line in tree.split("\n")]
    return [line for line in lines if line and not line.startswith(":")]


def test_every_page_is_in_one_table_of_contents():
    listed = [entry for path in pages() for entry in entries(path)]
    names = [name_of(path) for path in pages()]
    assert sorted(listed) == sorted({*names, "gallery/index"} - {"index"})


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.stem)
def test_links_lead_somewhere(path):
    links = LINK.findall(FENCED.sub("", text_of(path)))
    for link in (link for link in links if "://" not in link and not link.startswith("mailto:")):
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.is_file(), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("module", MODULES)
def test_the_reference_names_everything_public(module):
    public = importlib.import_module(f"widestreet{module}")
    own = [name for name in public.__all__ if not ismodule(getattr(public, name))]
    text, listed = text_of(DOCS / "api.rst"), set()
    for home, block in re.findall(
        r"currentmodule:: widestreet([.\w]*)\n(.*?)(?=\.\. currentmodule|\Z)", text, re.DOTALL
    ):
        names = [f"{home}.{name}" for name in re.findall(r"^   ([\w.]+)$", block, re.MULTILINE)]
        listed |= set(names)
    assert {f"{module}.{name}" for name in own if name != "__version__"} <= listed


def examples(path: Path) -> list[str]:
    """Return the examples without prompts, but those that another test runs."""
    if path.name == "CONTRIBUTING.md":
        return []
    return [code for skipped, code in PYTHON.findall(text_of(path)) if not skipped]


@pytest.mark.parametrize("path", [*filter(examples, documents())], ids=lambda path: path.stem)
def test_examples_without_prompts_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": path.stem}
    exec(compile("\n".join(examples(path)), path.name, "exec", dont_inherit=True), names)
    assert len(names) > 2  # an import at least


def shown(cell: str) -> str:
    """Return a ratio of the race as the README shows it."""
    found = re.match(r"(more than )?([\d.]+)", cell)
    if found is None:
        return "never" if cell.startswith("never") else ""
    ratio = float(found[2])
    return ("over " if found[1] else "") + (f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}")


def test_figures_of_the_readme_are_those_of_the_race():
    race = {}
    for line in text_of(DOCS / "race.md").split("## Time against gap")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7:
            race[cells[0], cells[1]] = cells[2:]
    table = re.findall(
        r"^\| `([\w-]+)`, ([\d,]+) rows \|(.+)\|$", text_of(ROOT / "README.md"), re.MULTILINE
    )
    assert len(table) >= 5
    for problem, rows, cells in table:
        seconds, *ratios = race[problem, rows]
        expected = [f"{seconds} s", *map(shown, ratios)]
        assert [cell.strip() for cell in cells.split("|")] == expected, problem
