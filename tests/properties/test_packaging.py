"""The metadata of the distribution agree with its code."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib import resources
from importlib.metadata import requires, version

import pytest

import widestreet as ws
from support.checkout import ROOT

SOURCE = ROOT / "src" / "widestreet"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
TOOLS = {"dev", "docs"}  # extras for those who work on the package
MODULES = {  # where the name of the distribution is another
    "libsvm-official": "libsvm",
    "scikit-learn": "sklearn",
    "scikit-learn-intelex": "sklearnex",
    "thundersvm-cpu": "thundersvm",
}


def module_of(requirement: str) -> str:
    name = re.match(r"[\w-]+", requirement).group()
    return MODULES.get(name, name)


@cache
def imported(*, on_import: bool = False) -> set[str]:
    """Return the top-level modules that the code imports, or those it imports unconditionally.

    Those of a cluster, a device and a notebook are imported when they are asked for.
    """
    on_device = [
        "batch",
        "block_launches",
        "census",
        "cuda",
        "growing",
        "launching",
        "newton",
        "tensors",
        "working",
        "triton_batch",
        "triton_census",
        "triton_kernels",
        "triton_newton",
        "triton_steps",
    ]
    on_demand = ["_src/dask", "playground/widget", *(f"device/{name}" for name in on_device)]
    found = set()
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).with_suffix("").as_posix()
        if on_import and any(f"/{one}/" in f"/{place}/" for one in on_demand):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body if on_import else ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.partition(".")[0])
    return found


def test_one_version():
    assert "version" in PROJECT["project"]["dynamic"]
    assert ws.__version__ == version("widestreet")
    assert f"## [{ws.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("requirement", PROJECT["project"]["dependencies"])
def test_every_requirement_is_imported(requirement):
    assert module_of(requirement) in imported()


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - TOOLS))
def test_every_extra_has_code_that_imports_it(extra):
    needed = {module_of(r) for r in EXTRAS[extra]}
    assert needed <= imported()


def test_every_import_is_required():
    known = {module_of(r) for r in PROJECT["project"]["dependencies"]}
    foreign = imported(on_import=True) - set(sys.stdlib_module_names)
    assert foreign <= known | {"widestreet"}


def test_the_installed_metadata_are_those_of_the_project():
    extras = "extra =="
    installed = {module_of(r) for r in requires("widestreet") if extras not in r}
    assert installed == {module_of(r) for r in PROJECT["project"]["dependencies"]}


def test_types_and_texts_are_shipped():
    papers = [f"_experiments/papers/{name}.md" for name in ("isvm", "insvr", "ensemble")]
    for name in ("py.typed", "_core.pyi", *papers):
        assert resources.files("widestreet").joinpath(name).is_file()


def test_experiments_are_shipped_once():
    assert PROJECT["tool"]["scikit-build"]["wheel"]["packages"] == {"widestreet": "src/widestreet"}


def test_the_citation_names_licence_and_home():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"license: {PROJECT['project']['license']}\n" in text
    assert f"repository-code: {PROJECT['project']['urls']['Homepage']}\n" in text
