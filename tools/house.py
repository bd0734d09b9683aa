"""Measure the structure of the package: `make house`, or python tools/house.py [SRC [SRC]].

Everything is read from the syntax trees below SRC/widestreet, so SRC may be the src folder of
another checkout that is not installed. Two folders are printed side by side, before and after.
With --check the limits below are tested, and a broken one ends the program with status 1.

An import counts as an import of the module that is named, not of the packages around it. It is
deferred if it stands in a function or below `if TYPE_CHECKING`. The lines of a function are those
of its body, from the first statement after the docstring to the last. Methods are counted by name.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path

PACKAGE = "widestreet"
TOP = 10
LONG_FILE = 400
MOST_LINES = 60
MOST_METHODS = 20
MOST_OWN_CLASSES = {"OnlineSVC": 5}
# Classes that may have more methods, with the reason.
MANY_METHODS = {
    "OnlineMachine": "eleven public methods and attributes, four that Python and scikit-learn "
    "call, and seven that the five online estimators define differently",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """One source file, its imports and its definitions."""

    name: str
    path: Path
    tree: ast.Module
    lines: int
    imports: set[str] = field(default_factory=set)  # modules imported when it is imported
    deferred: set[str] = field(default_factory=set)  # modules imported later, or for types only
    names: dict[str, str] = field(default_factory=dict)  # imported name -> its dotted origin

    @property
    def short(self) -> str:
        return self.name.removeprefix(PACKAGE + ".").removeprefix("_src.")


@dataclass(frozen=True)
class Class:
    """One class, its bases as dotted names and the names of its methods."""

    name: str
    bases: tuple[str, ...]
    methods: frozenset[str]


def read(src: Path, skipped: Iterable[str] = ()) -> dict[str, Module]:
    """Parse every module below `src`, a compiled one by its stub."""
    modules: dict[str, Module] = {}
    for path in sorted([*src.glob(f"{PACKAGE}/**/*.py"), *src.glob(f"{PACKAGE}/**/*.pyi")]):
        parts = path.relative_to(src).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if not any(f"{name}.".startswith(f"{prefix}.") for prefix in skipped):
            text = path.read_text(encoding="utf-8")
            modules[name] = Module(name, path, ast.parse(text), text.count("\n"))
    for module in modules.values():
        _collect_imports(module, modules)
    return modules


def _collect_imports(module: Module, modules: dict[str, Module]) -> None:
    """Sets: imports, deferred and names of `module`."""
    for node, late in _import_nodes(module.tree, False):
        if isinstance(node, ast.Import):
            origins = {alias.asname or alias.name: alias.name for alias in node.names}
        else:
            origins = {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        module.names |= origins
        for origin in origins.values():
            target = origin if origin in modules else origin.rpartition(".")[0]
            if target in modules and target != module.name:
                (module.deferred if late else module.imports).add(target)
    module.deferred -= module.imports


def _import_nodes(node: ast.AST, late: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield the import statements below `node`, and whether each is deferred."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, late
        else:
            typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            yield from _import_nodes(child, late or typing or isinstance(child, Function))


# -- the import graph --------------------------------------------------------------------------


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == index[name]:
            component = stack[stack.index(name) :]
            del stack[-len(component) :]
            if len(component) > 1:
                found.append(sorted(component))

    for name in graph:
        if name not in index:
            visit(name)
    return found


def longest_chain(graph: dict[str, set[str]]) -> tuple[str, ...]:
    """Return the longest chain of imports; a module of a cycle appears in it once."""
    component = {name: number for number, c in enumerate(cycles(graph)) for name in c}

    @cache
    def chain(name: str) -> tuple[str, ...]:
        same = component.get(name)
        below = [chain(o) for o in graph[name] if same is None or component.get(o) != same]
        return (name, *max(below, key=len, default=()))

    chains = [chain(name) for name in sorted(graph)]
    return max(chains, key=len)


# -- definitions -------------------------------------------------------------------------------


def functions(modules: dict[str, Module]) -> list[tuple[int, str]]:
    """Return the lines of body and the name of every function, the longest first."""
    found = []
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                body = node.body[ast.get_docstring(node, clean=False) is not None :]
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                found.append((lines, f"{module.short}: {node.name}"))
    return sorted(found, key=lambda entry: (-entry[0], entry[1]))


def classes(modules: dict[str, Module]) -> dict[str, Class]:
    """Return every class by its dotted name."""
    found = {}
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                bases = (
                    ast.unparse(b.value if isinstance(b, ast.Subscript) else b) for b in node.bases
                )
                methods = frozenset(m.name for m in node.body if isinstance(m, Function))
                name = f"{module.name}.{node.name}"
                found[name] = Class(
                    node.name, tuple(f"{module.name}.{base}" for base in bases), methods
                )
    return found


def resolve(name: str, modules: dict[str, Module]) -> str:
    """Follow imports from module to module to where `name` is defined."""
    for _ in range(len(modules)):
        home, _, attribute = name.rpartition(".")
        if home not in modules or attribute not in modules[home].names:
            break
        name = modules[home].names[attribute]
    return name


def own_ancestors(name: str, modules: dict[str, Module], known: dict[str, Class]) -> set[str]:
    """Return the classes of the package in the method resolution order of `name`."""
    name = resolve(name, modules)
    if name not in known:
        return set()
    return {name}.union(*(own_ancestors(b, modules, known) for b in known[name].bases))


def estimators(modules: dict[str, Module], known: dict[str, Class]) -> dict[str, int]:
    """Return the number of own classes in the method resolution order of public estimators."""
    lengths = {}
    for home in (PACKAGE, f"{PACKAGE}.online"):
        for name in modules[home].names:
            own = own_ancestors(f"{home}.{name}", modules, known)
            if any({"fit", "partial_fit"} & known[ancestor].methods for ancestor in own):
                lengths[name] = len(own)
    return dict(sorted(lengths.items(), key=lambda entry: (-entry[1], entry[0])))


def ambiguous_constants(modules: dict[str, Module]) -> dict[str, dict[str, list[str]]]:
    """Return numeric constants of one name that differ: name -> value -> modules."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for module in modules.values():
        for node in module.tree.body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            numeric = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
            if all(isinstance(part, numeric) for part in ast.walk(node.value)):
                value = ast.unparse(node.value)
                for target in targets:
                    if (
                        isinstance(target, ast.Name)
                        and target.id.isupper()
                        and value[0] not in "'\""
                    ):
                        found[target.id][value].append(module.short)
    return {name: values for name, values in sorted(found.items()) if len(values) > 1}


def needing_tests(modules: dict[str, Module]) -> list[Module]:
    """Return the modules that must have a test: neither packages nor stubs."""
    return [m for m in modules.values() if m.path.name not in ("__init__.py", "_core.pyi")]


def untested(modules: dict[str, Module], tests: Path) -> list[str]:
    """Return the modules without a test of their name.

    The test of package.module is tests/unit/package/test_module.py, without the leading underscore
    of a package and without `_src`. Where there is no tests/unit, any test_module.py or
    test_package_module.py counts.
    """
    mirrored = (tests / "unit").is_dir()
    present = {path.name for path in tests.glob("**/test_*.py")}
    missing = []
    for module in needing_tests(modules):
        folders = [p.lstrip("_") for p in module.name.split(".")[1:-1] if p != "_src"]
        stem = module.path.stem.strip("_")
        names = {f"test_{stem}.py", f"test_{'_'.join([*folders[-1:], stem])}.py"}
        there = tests.joinpath("unit", *folders, f"test_{stem}.py").exists()
        if not (there if mirrored else names & present):
            missing.append(module.short)
    return missing


# -- tables ------------------------------------------------------------------------------------


def tables(src: Path, skipped: Iterable[str]) -> dict[str, list[str]]:
    """Return the lines of every table by its title."""
    modules = read(src, skipped)
    known = classes(modules)
    graph = {m.name: m.imports for m in modules.values()}
    wide = {m.name: m.imports | m.deferred for m in modules.values()}
    edges = [(name, other) for name, others in wide.items() for other in others]
    fan_in = Counter(modules[other].short for _, other in edges)
    fan_out = Counter(modules[name].short for name, _ in edges)
    files = sorted(((m.lines, m.short) for m in modules.values()), reverse=True)
    lengths = functions(modules)
    methods = sorted(((len(c.methods), name) for name, c in known.items()), reverse=True)
    shown = [(n, name.removeprefix(PACKAGE + ".").removeprefix("_src.")) for n, name in methods]
    lacking = untested(modules, src.parent / "tests")
    constants = ambiguous_constants(modules)
    return {
        "import graph": [
            f"{len(modules):5} modules",
            f"{sum(m.lines for m in modules.values()):5} lines",
            f"{len(edges):5} edges",
            f"{len(cycles(graph)):5} cycles at import time",
            f"{len(cycles(wide)):5} cycles with deferred imports"
            + "".join(f" (of {len(cycle)})" for cycle in cycles(wide)),
            f"{len(longest_chain(graph)):5} modules in the longest chain",
        ],
        "fan-in": _rows((n, name) for name, n in fan_in.most_common(TOP)),
        "fan-out": _rows((n, name) for name, n in fan_out.most_common(TOP)),
        f"files of {LONG_FILE} lines and more": _rows(f for f in files if f[0] >= LONG_FILE),
        f"functions: {MOST_LINES} lines of body at most": [
            f"{sum(n > MOST_LINES for n, _ in lengths):5} of {len(lengths)} longer",
            *_rows(lengths[:TOP]),
        ],
        f"classes: {MOST_METHODS} methods at most": [
            f"{sum(n > MOST_METHODS for n, _ in shown):5} of {len(shown)} with more",
            *_rows(shown[:TOP]),
        ],
        "own classes in the method resolution order": _rows(
            (n, name) for name, n in estimators(modules, known).items()
        ),
        "modules without a test of their name": [
            f"{len(lacking):5} of {len(needing_tests(modules))}",
            *(f"      {name}" for name in lacking),
        ],
        "constants of one name and different values": [
            f"{len(constants):5} names",
            *(f"      {name}: {', '.join(values)}" for name, values in constants.items()),
        ],
    }


def _rows(entries: Iterable[tuple[int, str]]) -> list[str]:
    return [f"{number:5} {name}" for number, name in entries]


def show(columns: list[dict[str, list[str]]]) -> None:
    """Print the tables of one tree, or of two side by side."""
    width = max(len(line) for lines in columns[0].values() for line in lines) + 2
    for title in columns[0]:
        print(f"\n{title}\n{'-' * len(title)}")
        for cells in zip_longest(*(column[title] for column in columns), fillvalue=""):
            print("".join(cell.ljust(width) for cell in cells).rstrip())


def broken_limits(src: Path) -> list[str]:
    """Return one line for each limit that does not hold."""
    modules = read(src)
    known = classes(modules)
    broken = [
        f"import cycle: {', '.join(cycle)}"
        for cycle in cycles({m.name: m.imports for m in modules.values()})
    ]
    broken += [f"{name} has {n} lines" for n, name in functions(modules) if n > MOST_LINES]
    broken += [
        f"{name} has {len(found.methods)} methods"
        for name, found in known.items()
        if len(found.methods) > MOST_METHODS and found.name not in MANY_METHODS
    ]
    broken += [
        f"{name} is kept in MANY_METHODS without need"
        for name in MANY_METHODS
        if not any(c.name == name and len(c.methods) > MOST_METHODS for c in known.values())
    ]
    lengths = estimators(modules, known)
    broken += [
        f"{name} has {lengths[name]} own classes in its method resolution order"
        for name, most in MOST_OWN_CLASSES.items()
        if lengths[name] > most
    ]
    broken += [
        f"{name} has no test of its name" for name in untested(modules, src.parent / "tests")
    ]
    return broken


def main() -> int:
    """Print the tables, or check the limits."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    here = Path(__file__).resolve().parent.parent / "src"
    parser.add_argument(
        "src", nargs="*", type=Path, default=[here], help="src folders, two at most"
    )
    parser.add_argument("--skip", action="append", default=[], help="leave out a package")
    parser.add_argument("--check", action="store_true", help="fail if a limit is broken")
    options = parser.parse_args()
    if options.check:
        broken = [line for src in options.src for line in broken_limits(src)]
        print("\n".join(broken), end="\n" if broken else "")
        return int(bool(broken))
    show([tables(src.resolve(), options.skip) for src in options.src[:2]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
