"""Documents name files, classes and functions that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from support.checkout import ROOT

FOLDERS = [ROOT, *(ROOT / "src" / name for name in ("widestreet", "widestreet/_src"))]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
DOCUMENTS = ["docs/architecture.md", "CONTRIBUTING.md"]
EXAMPLES = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+\.(py|pyi|cpp|hpp|toml|md)|[\w.-]+(/[\w.-]+)*/")
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?")


def in_code(document: str) -> list[list[str]]:
    """Return what stands in backticks, line by line, without examples."""
    text = EXAMPLES.sub("", (ROOT / document).read_text(encoding="utf-8"))
    return [CODE.findall(line) for line in text.splitlines()]


@cache
def sources(*folders: str) -> dict[str, str]:
    """Return the text of all sources in some folders, by their paths."""
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    files = [path for path in files if path.suffix in (".py", ".pyi", ".hpp", ".cpp")]
    return {path.as_posix(): path.read_text(encoding="utf-8") for path in files}


@cache
def definitions(path: Path) -> set[str]:
    """Return the names of the classes, methods and functions of a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = (n for n in node.body if isinstance(n, ast.FunctionDef | ast.ClassDef))
            found |= {f"{node.name}.{member.name}" for member in inner}
    return found


def exists(name: str) -> bool:
    """Tell whether there is a file of this name, or one whose path ends with it."""
    if any((folder / name).exists() for folder in FOLDERS):
        return True
    last = name.rstrip("/")
    return "/" not in last and any(any((ROOT / part).rglob(last)) for part in ("src", "core"))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_exist(document):
    named = [code for line in in_code(document) for code in line if FILE.fullmatch(code)]
    assert len(named) > 20
    assert [name for name in named if not exists(name)] == []


@pytest.mark.parametrize("folder", ["src", "core"])
def test_files_that_sources_name_exist(folder):
    paths = [*sources("src", "core", "tests")]
    wrong = [
        (path, name)
        for path, text in sources(folder).items()
        for name in re.findall(r"[\w/]*\w\.(?:py|hpp|cpp)\b", text)
        if not any(known.endswith(f"/{name}") for known in paths)
    ]
    assert wrong == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_names_occur_in_the_sources(document):
    named = {code for line in in_code(document) for code in line if NAME.fullmatch(code)}
    text = "\n".join(sources("src", "core", "tests", "tools").values())
    words = set(re.findall(r"\w+", text))
    assert [name for name in sorted(named) if not set(name.split(".")) <= words] == []


def test_every_step_of_the_walk_is_in_its_file():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    walk = re.findall(r"^\| `([\w/]+\.py)` \| ([^|]+) \|", text, re.MULTILINE)
    assert len(walk) > 25
    for file, names in walk:
        here = definitions(ROOT / "src/widestreet/_src" / file)
        assert set(CODE.findall(names)) <= here, file


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", CONTRIBUTING, re.DOTALL))
def test_examples_of_contributing_run(example):
    exec(compile(example, "CONTRIBUTING.md", "exec", dont_inherit=True), {"__name__": "example"})
