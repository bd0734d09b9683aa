"""Public names, which are loaded when one of them is used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import widestreet
from widestreet import _names
from widestreet.online import OnlineSVC

SLOW = ("matplotlib", "numpy", "pandas", "scipy", "sklearn")


def printed_by(code: str, *arguments: str) -> set[str]:
    """Return the words that code prints last in a fresh interpreter."""
    shown = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
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


@pytest.mark.parametrize("module", ["", ".online", ".strategies", ".model_selection"])
def test_files_name_public_classes_whatever_is_imported(module):
    code = f"import widestreet{module}; import widestreet as ws; print(*ws.trusted_types())"
    names = printed_by(code)
    assert not [name for name in names if "_src" in name]
    assert {
        "widestreet.SVC",
        "widestreet.SVCCV",
        "widestreet.online.OnlineSVR",
        "widestreet.strategies.PRSVM",
        "widestreet.model_selection.GridSearchCV",
    } <= names
    for name in names:
        home, _, own = name.rpartition(".")
        if home.startswith("widestreet"):
            assert getattr(importlib.import_module(home), own).__module__ == home


def test_a_loaded_online_estimator_can_be_saved_again(tmp_path):
    model = OnlineSVC(gamma=1.0).fit([[0.0], [1.0]], [0, 1])
    model.save(tmp_path / "old.street")
    code = "import sys, widestreet as ws; ws.load(sys.argv[1]).save(sys.argv[2]); print('saved')"
    paths = [str(tmp_path / name) for name in ("old.street", "new.street")]
    assert printed_by(code, *paths) == {"saved"}
    assert (
        widestreet.load(paths[1]).decision_function([[0.3]]) == model.decision_function([[0.3]])
    ).all()
