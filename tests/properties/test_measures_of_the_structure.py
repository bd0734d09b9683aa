"""tools/house.py: what it counts in a small package, and which limits it finds broken."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from support.checkout import ROOT

FILES = {
    "__init__": "from widestreet.estimator import SVC",
    "online": "from widestreet._src.machine import Machine as OnlineSVC",
    "estimator": """
        from typing import Generic
        from widestreet._src.base import Base, Mixin
        LIMIT = 10
        class SVC(Mixin, Base[int], Generic):
            def fit(self): ...
        """,
    "_src/__init__": "",
    "_src/base": """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from widestreet._src.machine import Machine
        LIMIT = 1 << 4
        class Base: ...
        class Mixin:
            def score(self): ...
        """,
    "_src/machine": """
        from widestreet._src import base
        from widestreet._src.base import Base
        class Machine(Base):
            def partial_fit(self):
                '''Count lines
                without this.
                '''
                one = 1
                return one
        """,
    "cli/__init__": "",
    "cli/run": "def run():\n    from widestreet import estimator\n    return estimator",
}


@pytest.fixture(scope="module")
def house():
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module  # where dataclasses look for annotations
    spec.loader.exec_module(module)
    yield module
    del sys.modules["house"]


@pytest.fixture
def src(tmp_path) -> Path:
    """The folder of a small package, with tests of some modules."""
    for name, text in FILES.items():
        path = tmp_path / "src" / "widestreet" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    for name in ("test_estimator", "test_online", "cli/test_run", "test_machine"):
        path = tmp_path / "tests" / "unit" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "src"


def test_imports_at_import_time_and_later(house, src):
    modules = house.read(src)
    base, machine = "widestreet._src.base", "widestreet._src.machine"
    assert modules[machine].imports == {base}
    assert modules[base].imports == set()
    assert modules[base].deferred == {machine}
    assert modules["widestreet.cli.run"].deferred == {"widestreet.estimator"}
    assert house.cycles({m.name: m.imports for m in modules.values()}) == []
    assert house.cycles({m.name: m.imports | m.deferred for m in modules.values()}) == [
        [base, machine]
    ]
    chain = house.longest_chain({m.name: m.imports for m in modules.values()})
    assert chain == ("widestreet", "widestreet.estimator", base)


def test_sizes_and_orders(house, src):
    modules = house.read(src)
    assert (2, "machine: partial_fit") in house.functions(modules)
    assert house.estimators(modules, house.classes(modules)) == {"SVC": 3, "OnlineSVC": 2}
    assert house.ambiguous_constants(modules) == {
        "LIMIT": {"10": ["estimator"], "1 << 4": ["base"]}
    }
    assert house.untested(modules, src.parent / "tests") == ["base"]


def test_broken_limits_are_named(house, src, monkeypatch):
    monkeypatch.setattr(house, "MOST_LINES", 1)
    monkeypatch.setattr(house, "MOST_METHODS", 0)
    monkeypatch.setattr(house, "MOST_OWN_CLASSES", {"OnlineSVC": 0})
    monkeypatch.setattr(house, "MANY_METHODS", {"Mixin": "a reason", "Base": "no method"})
    (src / "widestreet" / "_src" / "base.py").write_text("from widestreet._src import machine\n")
    assert house.broken_limits(src) == [
        "import cycle: widestreet._src.base, widestreet._src.machine",
        "cli.run: run has 2 lines",
        "machine: partial_fit has 2 lines",
        "widestreet._src.machine.Machine has 1 methods",
        "widestreet.estimator.SVC has 1 methods",
        "Mixin is kept in MANY_METHODS without need",
        "Base is kept in MANY_METHODS without need",
        "OnlineSVC has 1 own classes in its method resolution order",
        "base has no test of its name",
    ]


def test_flat_tests_count_by_their_name(house, src):
    tests = src.parent / "flat"
    tests.mkdir()
    (tests / "test_cli_run.py").touch()
    (tests / "test_base.py").touch()
    assert house.untested(house.read(src), tests) == ["machine", "estimator", "online"]


def test_two_trees_are_printed_side_by_side(house, src, capsys):
    house.show([house.tables(src, []), house.tables(src, ["widestreet._src"])])
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines() if line.endswith("modules")] == [
        ["8", "modules", "5", "modules"]
    ]
