"""Ensembles of partially trained SVMs: the printed numbers, and the plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from widestreet._experiments.data import adult_and_web
from widestreet._experiments.harness.measurement import Measurement, Method
from widestreet._experiments.harness.task import Split
from widestreet._experiments.papers import ensemble_data as pools
from widestreet._experiments.papers.data import EVERY
from widestreet._experiments.papers.ensemble_methods import Classification

# -- the paper -------------------------------------------------------------------------------------

COLUMNS = ("best", "loo", "parzen", "rho-svm", "ensemble")  # of Table 2
PRINTED = {
    "cancer": (23.1, 26.1, 27.4, 33.5, 28.2),
    "diabetis": (24.8, 28.9, 33.4, 34.5, 24.8),
    "german": (22.6, 24.9, 29.8, 29.3, 23.7),
    "titanic": (22.7, 25.5, 23.3, 45.2, 22.5),
    "waveform": (11.2, 18.8, 22.0, 11.2, 10.0),
    "astro": (5.8, 9.3, 7.0, 22.1, 3.4),
    "adult1": (16.3, 17.7, 24.1, 19.4, 15.9),
    "adult2": (16.0, 17.4, 24.0, 22.8, 15.8),
    "adult3": (16.1, 16.2, 24.1, 19.7, 15.9),
    "web1": (2.3, 2.8, 3.0, 14.4, 2.8),
    "web2": (2.1, 2.2, 3.0, 3.4, 2.1),
}
RATES = (0.005, 0.01, 0.02, 0.04)  # Figure 1
STEPS = 1000  # as far as its axes reach
REALIZATIONS = 100  # section 4.2


# -- what is run -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Set:
    """A data set.

    Attributes
    ----------
    printed : str
        Its name in the paper, or the set it stands for.
    rows : int
    load : callable
    files : tuple of str
    source : str
    drawn : bool
        Whether there are many random splits.
    """

    printed: str
    rows: int
    load: Callable[[int], Split]
    files: tuple[str, ...]
    source: str
    drawn: bool = False


def raetsch(printed: str, file: str, rows: int, test_rows: int, source: str = "") -> Set:
    """One of Raetsch's benchmarks."""
    load = partial(pools.realization, file, test_rows)
    words = f"Raetsch's benchmark, an npz file; random splits of our own{source}"
    return Set(printed, rows, load, (file,), words, True)


def libsvm(printed: str, name: str, features: int, rows: int, source: str = "") -> Set:
    """A set of LIBSVM's page with its test rows."""
    load = partial(adult_and_web.load, name, features, False, test_rows=EVERY)
    return Set(printed, rows, load, (name, f"{name}.t"), f"LIBSVM's {name}{source}")


OTHER_SIZE = "; as many training rows as the paper prints"
RESCALED = "; kept as one split, standardised by its training rows"
SETS = {
    "cancer": raetsch("cancer", "breast_cancer.npz", 200, 77),
    "diabetis": raetsch("diabetis", "diabetis_1split.npz", 468, 300, RESCALED),
    "german": raetsch("german", "german.npz", 700, 300),
    "titanic": raetsch("titanic", "titanic.npz", 150, 2_051),
    "waveform": raetsch("waveform", "waveform.npz", 400, 4_600, "; with Raetsch's training rows"),
    "waveform-200": raetsch("waveform", "waveform.npz", 200, 4_600, OTHER_SIZE),
    "astro": Set(
        "astro",
        3_089,
        pools.astro,
        ("svmguide1.csv", "svmguide1.t.csv"),
        "LIBSVM's svmguide1, columns as they are",
    ),
    "adult1": libsvm("adult1", "a1a", 123, 1_605),
    "adult2": libsvm("adult2", "a2a", 123, 2_265),
    "a4a": libsvm("adult3", "a4a", 123, 4_781, ", in place of adult3 (a3a), which is not at hand"),
    "web1": Set(
        "web1",
        2_477,
        pools.web_one,
        ("w1a", "w8a"),
        "LIBSVM's w1a; the other rows of w8a are its test",
    ),
    "w4a": libsvm("web2", "w4a", 300, 7_366, ", in place of web2 (w2a), which is not at hand"),
    "adult": libsvm("adult", "a9a", 123, 32_561),
}
COMPARED = [name for name in SETS if name not in ("waveform-200", "adult")]  # one for each line
CURVED = ("cancer", "waveform-200", "waveform")  # Figure 1
SOME = 10  # splits of a quick run, and for Figure 1
LIMIT, QUICK_ROWS = 600.0, 1_500

GRID = [2.0**power for power in range(-3, 12, 2)]
LETTER = {"learning_rate": "literal", "folds": None}
LITERAL = Method("literal", "ensemble, literal", "Ensemble", LETTER)
DEFAULT = Method("default", "ensemble, default", "Ensemble")
PARZEN = Method("parzen", "Parzen window", "Ensemble", {"aggregate": "parzen"})
LAST = Method("rho-svm", "rho-SVM", "Ensemble", LETTER | {"aggregate": "last"})
PATH = Method("path", "regularization path", "Path", {"between": [1e-2, 1e4], "values": 60})
SEARCH = Method("path", "SVC on a grid", "Grid", {"grid": [2.0**p for p in range(-5, 6, 2)]})
FOLDS = {"grid": GRID, "folds": 5}
THEIRS = Method(
    "cv-libsvm", "5 folds, scikit-learn", "CrossValidation", FOLDS | {"library": "scikit-learn"}
)
OURS = Method(
    "cv-ours", "5 folds, widestreet", "CrossValidation", FOLDS | {"library": "widestreet"}
)
EPSILONS = [0.1, 0.05, 0.025, 0.0125, 0.005]  # each half of the one before, to the paper's
ENDINGS = Method("endings", "ensembles with earlier ends", "Endings", {"epsilons": EPSILONS})
CURVES = Method("curves", "rates of Figure 1", "Curves", {"rates": list(RATES), "steps": STEPS})
RANK = 1_000  # of the kernel of `adult`


def printed_distance(names: Sequence[str]) -> float:
    """Return the mean difference in points of the paper's ensemble and its SVM (BEST)."""
    lines = [PRINTED[SETS[name].printed] for name in names]
    return fmean(line[COLUMNS.index("ensemble")] - line[0] for line in lines)


def low_rank(method: Method) -> Method:
    """Return the method with an approximation of the kernel."""
    return replace(method, parameters=method.parameters | {"rank": RANK})


def problems() -> dict[str, Classification]:
    """Table 1."""
    return {
        name: Classification(
            name,
            one.load,
            one.rows,
            "svc",
            math.nan,
            math.nan,
            "the paper's; C is chosen",
            files=one.files,
            source=one.source,
            drawn=one.drawn,
        )
        for name, one in SETS.items()
    }


def plan(quick: bool) -> list[Measurement]:
    """Each split by all methods of Table 2; some splits by others."""
    found = []
    for name, one in SETS.items():
        rows = min(one.rows, QUICK_ROWS) if quick else one.rows
        seeds = 1 if not one.drawn else SOME if quick else REALIZATIONS
        ensembles = [PARZEN, LAST, LITERAL, DEFAULT]
        if name == "adult":
            methods = [*map(low_rank, ensembles), SEARCH]
        else:
            methods = [*ensembles, PATH, THEIRS, OURS, ENDINGS]
        found += [Measurement(name, rows, m, s, LIMIT) for s in range(seeds) for m in methods]
        if name in CURVED:
            found += [Measurement(name, rows, CURVES, s, LIMIT) for s in range(SOME)]
    return found
