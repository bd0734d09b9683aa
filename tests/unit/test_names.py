"""Public names, which are loaded when one of them is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import widestreet
from widestreet import _names

SLOW = ("matplotlib", "numpy", "pandas", "scipy", "sklearn")


def printed_by(code: str) -> set[str]:
    """Return the words that code prints last in a fresh interpreter."""
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return set(shown.stdout.splitlines()[-1].split())


def test_the_package_lists_all_names():
    public = {*_names.__all__, *widestreet._MODULES, "__version__"}
    assert public == set(widestreet.__all__) == set(dir(widestreet))
    for name in _names.__all__:
        assert getattr(widestreet, name) is getattr(_names, name)
    with pytest.raises(AttributeError, match="no attribute 'SVCC'"):
        widestreet.SVCC  # noqa: B018


@pytest.mark.parametrize(
    "code",
    [
        "import widestreet",
        "from widestreet.cli import make_parser; make_parser().format_help()",
        "from widestreet.cli import main; main(['completion', 'bash'])",
    ],
)
def test_nothing_slow_is_loaded_before_it_is_used(code):
    packages = "print(*{name.partition('.')[0] for name in sys.modules})"
    assert not printed_by(f"{code}; import sys; {packages}") & set(SLOW)


@pytest.mark.parametrize("module", ["online", "io", "model_selection"])
def test_a_public_module_alone_sets_the_homes_of_all_estimators(module):
    code = f"import widestreet.{module}; from widestreet._src.estimators.svc import SVC"
    assert printed_by(f"{code}; print(SVC.__module__)") == {"widestreet"}
