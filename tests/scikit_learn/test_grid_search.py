"""scikit-learn's own tests of its grid search, run against ours.

The installed scikit-learn may come without its tests. Tests that take the class of the search as a
parameter hold scikit-learn's own and do not apply, nor do those below.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import widestreet as ws
from widestreet.model_selection import GridSearchCV

theirs: Any = pytest.importorskip("sklearn.model_selection.tests.test_search")

OTHERS = {
    "test_custom_run_search": "compares all attributes with a search that has no `shared_`",
}
OTHER_MACHINES = {
    "test_grid_search_cv_results": "further keys of cv_results_ are not allowed there",
}


def _applies(name: str, test: Any) -> bool:
    """Return whether a test builds a grid search itself."""
    if not (name.startswith("test_") and inspect.isfunction(test)) or name in OTHERS:
        return False
    classes = {"SearchCV", "search_cv", "search", "array_namespace"} & {
        *inspect.signature(test).parameters
    }
    return not classes and "GridSearchCV" in test.__code__.co_names


def _uses_an_svm(name: str, test: Any) -> bool:
    """Return whether an SVM of scikit-learn in a test can be replaced by ours."""
    return "SVC" in test.__code__.co_names and name not in OTHER_MACHINES


TESTS = {name: test for name, test in vars(theirs).items() if _applies(name, test)}


@pytest.fixture(autouse=True)
def _replaced(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(theirs, "GridSearchCV", GridSearchCV)
    if request.cls is TestWithOurMachine:
        monkeypatch.setattr(theirs, "SVC", ws.SVC)


@pytest.mark.filterwarnings("ignore")
class TestWithAnyMachine:
    locals().update({name: staticmethod(test) for name, test in TESTS.items()})


@pytest.mark.filterwarnings("ignore")
class TestWithOurMachine:
    locals().update(
        {name: staticmethod(test) for name, test in TESTS.items() if _uses_an_svm(name, test)}
    )


def test_some_tests_apply():
    assert len(TESTS) > 30
    assert "test_grid_search_precomputed_kernel" in TESTS
