"""scikit-learn's own tests of sklearn.svm, as installed, with our classes in place of its own."""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

import pytest
import sklearn
import sklearn.svm

import widestreet as ws
from support.checkout import ROOT
from support.machines import any_street

pytestmark = [  # they expect warnings of theirs only where they are about them
    any_street,
    pytest.mark.filterwarnings("ignore:Liblinear failed to converge"),
    pytest.mark.filterwarnings("ignore:training stopped with status 'iteration_limit'"),
]
TESTS = pytest.importorskip("sklearn.svm.tests", reason="scikit-learn comes without its tests")
OURS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
PAGE = ROOT / "docs" / "scikit-learn.md"

# -- what is different by design ---------------------------------------------------------------

PROBABILITY = (
    "There is no `probability` parameter, which scikit-learn has deprecated as well: wrap the "
    "classifier in `CalibratedSVC`."
)
INFINITE = (
    "`C` must be finite: with infinite `C`, rows that cannot be separated have no finite "
    "objective to certify. Use a large value such as `C=1e10`."
)
NEGATIVE = (
    "A negative sample weight is an error, because it is probably a mistake. LIBSVM silently "
    "leaves the row out; use a weight of zero for this."
)
SOLVED = (
    "The test expects a warning, but the optimum for its six rows is reached within a `max_iter` "
    "that is too small for LIBSVM."
)

# A test, or one of its parameter sets, that must fail, and why; docs/scikit-learn.md repeats it.
DIFFERENCES = {
    "test_svm.py::test_probability": PROBABILITY,
    "test_svm.py::test_hasattr_predict_proba": PROBABILITY,
    "test_svm.py::test_probability_raises_futurewarning": PROBABILITY,
    "test_svm.py::test_svc_nusvc_probA_probB_deprecated": PROBABILITY,
    "test_sparse.py::test_svc": PROBABILITY,
    "test_sparse.py::test_unsorted_indices": PROBABILITY,
    "test_sparse.py::test_sparse_svc_clone_with_callable_kernel": PROBABILITY,
    "test_svm.py::test_tweak_params": (
        "The private attribute `_dual_coef_`, with the signs of LIBSVM, does not exist: the "
        "coefficients are stored in `dual_coef_` only."
    ),
    "test_svm.py::test_svc_raises_error_internal_representation": (
        "The private attribute `_n_support` does not exist. Changing an attribute cannot cause "
        "reads outside an array."
    ),
    "test_svm.py::test_svr_errors": (
        "A callable kernel that returns a matrix of the wrong shape is an error in `fit`, not "
        "only in `predict`."
    ),
    "test_svm.py::test_custom_kernel_not_array_input": (
        "A callable kernel is called with blocks of rows of a numeric X, never with all rows at "
        "once, so that the kernel matrix need not fit into memory. For strings use "
        '`kernel="precomputed"`.'
    ),
    "test_svm.py::test_bad_input": (
        "A model trained on dense rows can also predict sparse rows, which is an error in "
        "scikit-learn."
    ),
    "test_svm.py::test_svc_nonfinite_params": (
        "Values so large that kernel values overflow are an error before training. The message is "
        "about X, not about the resulting coefficients."
    ),
    "test_svm.py::test_libsvm_convergence_warnings": SOLVED,
    "test_sparse.py::test_timeout": SOLVED,
    "test_svm.py::test_svm_with_infinite_C": INFINITE,
    "test_svm.py::test_negative_weights_svc_leave_just_one_label": NEGATIVE,
    "test_svm.py::test_negative_weights_svc_leave_two_labels[partial-mask-label-1-SVC]": NEGATIVE,
    "test_svm.py::test_negative_weights_svc_leave_two_labels[partial-mask-label-1-NuSVC]": NEGATIVE,
    "test_svm.py::test_negative_weight_equal_coeffs[partial-mask-label-1-SVC]": NEGATIVE,
    "test_svm.py::test_negative_weight_equal_coeffs[partial-mask-label-1-NuSVC]": NEGATIVE,
    "test_svm.py::test_negative_weight_equal_coeffs[partial-mask-label-1-NuSVR]": NEGATIVE,
}

# Tests that asked for probabilities before scikit-learn 1.9, and have gone or do without since.
OLDER = (
    "test_svm.py::test_consistent_proba",
    "test_svm.py::test_svc_clone_with_callable_kernel",
    "test_svm.py::test_unicode_kernel",
    "test_sparse.py::test_consistent_proba",
)
BEFORE_1_9 = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)
EXPECTED = DIFFERENCES | dict.fromkeys(OLDER if BEFORE_1_9 else (), PROBABILITY)


@pytest.fixture(autouse=True)
def by_design(request) -> None:
    """Expect the failures of the table; one that passes has no place there any more."""
    test = f"{request.function.__module__.rpartition('.')[2]}.py::{request.node.name}"
    reason = EXPECTED.get(test, EXPECTED.get(test.partition("[")[0]))
    if reason:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def test_the_differences_are_documented():
    section = PAGE.read_text(encoding="utf-8").partition("\n## Differences\n")[2]
    rows = re.findall(r"^\| `(test_.+?)` \| (.+) \|$", section.partition("\n## ")[0], re.MULTILINE)
    assert dict(rows) == DIFFERENCES


# -- sklearn.svm as those tests see it ---------------------------------------------------------


def stand_in(module: ModuleType, **replaced) -> ModuleType:
    """A module like another one, some names aside; the other one stays as it is."""
    twin = ModuleType(module.__name__, module.__doc__)
    vars(twin).update(replaced, __getattr__=lambda name: getattr(module, name))
    return twin


OUR_SVM = stand_in(sklearn.svm, **{name: getattr(ws, name) for name in OURS})
STAND_INS = {
    "sklearn": stand_in(sklearn, svm=OUR_SVM),
    "sklearn.svm": OUR_SVM,
    # marks that only scikit-learn's own configuration declares are no errors
    "pytest": stand_in(pytest, mark=pytest.MarkGenerator(_ispytest=True)),
}


def our_import(name, globals=None, locals=None, fromlist=(), level=0):
    """What the import statements of those files call, at their top and inside functions."""
    if name == TESTS.__name__:
        return stand_in(TESTS, **{stem: load(stem) for stem in fromlist})
    module = builtins.__import__(name, globals, locals, fromlist, level)
    return STAND_INS.get(module.__name__, module)


@cache
def load(stem: str) -> ModuleType:
    """One of the files, executed anew with our imports and pytest's asserts."""
    name = f"{TESTS.__name__}.{stem}"
    pytest.register_assert_rewrite(name)
    spec = find_spec(name)
    module = module_from_spec(spec)
    module.__builtins__ = vars(builtins) | {"__import__": our_import}
    spec.loader.exec_module(module)
    return module


# -- those tests -------------------------------------------------------------------------------


@pytest.fixture
def global_random_seed() -> int:
    """Their fixture, with the seed that is their default."""
    return 42


def definitions(tree: ast.Module) -> dict[str, set[str]]:
    """Every name defined in a file with all the words that its definition contains."""
    found: dict[str, set[str]] = {}
    for node in tree.body:
        inside = list(ast.walk(node))
        names = {part.id for part in inside if isinstance(part, ast.Name)}
        words = names | {part.attr for part in inside if isinstance(part, ast.Attribute)}
        stored = {p.id for p in inside if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)}
        for name in [node.name] if isinstance(node, ast.FunctionDef) else stored:
            found.setdefault(name, set()).update(words)
    return found


def about_us(defined: dict[str, set[str]]) -> list[str]:
    """The tests that mention one of our classes, themselves or through something they mention."""
    reached = set(OURS)
    while more := {name for name, words in defined.items() if words & reached} - reached:
        reached |= more
    return [name for name in defined if name in reached and name.startswith("test_")]


def suite(path: Path) -> type | None:
    """A class with the tests of a file that are about us and with its fixtures, if it has any."""
    defined = definitions(ast.parse(path.read_text(encoding="utf-8")))
    names = about_us(defined)
    if not names:
        return None
    module = load(path.stem)
    names += [name for name, words in defined.items() if "fixture" in words]
    members = {name: staticmethod(getattr(module, name)) for name in names}
    return type(path.stem, (), members | {"pytestmark": getattr(module, "pytestmark", [])})


for path in sorted(Path(TESTS.__file__).parent.glob("test_*.py")):
    title = path.stem.replace("_", " ").title().replace(" ", "")  # test_svm is TestSvm
    globals()[title] = suite(path)
