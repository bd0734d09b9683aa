"""Ensembles of partially trained SVMs: Figure 1, Tables 2 and 3.

Figure 1 is a picture without numbers, and the text that we have ends before Table 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from widestreet.benchmarks.plots import COLOURS, tidy
from widestreet.benchmarks.records import Record

from . import cells
from .ensemble_plan import (
    ADAPTIVE,
    COLUMNS,
    COMPARED,
    CURVED,
    CURVES,
    ENDINGS,
    EPSILONS,
    FOLDS,
    GRID,
    LAST,
    LITERAL,
    OURS,
    PARZEN,
    PATH,
    PRINTED,
    RANK,
    SETS,
    STEPS,
    THEIRS,
    plan,
    printed_distance,
    problems,
)
from .paper import Findings, Paper, slot
from .report import Cell, Figure, Section, Table
from .spread import Spread, count, digits
from .tuning import fits, measure

# -- what is shown ---------------------------------------------------------------------------------


def sections(findings: Findings) -> list[Section]:
    """Figure 1, Table 2 and what follows from it, Table 3, and what the paper does not have."""
    return [
        Section("Figure 1: rates of learning", figure_one(findings)),
        Section("Table 2: test errors", table_two(findings)),
        Section("The ensemble against the best-tuned machine", [GOAL_WORDS, distances(findings)]),
        Section("Table 3: time", table_three(findings)),
        Section("Ends that come sooner", sooner(findings)),
    ]


CURVE_WORDS = """\
The paper, Figure 1, has a picture only. It does not say what its fixed rates multiply. Ours
multiply y f(x) of weights that sum to one, times the factor in the table: 1; m, the number of rows,
as if the weights had mean one; and 2m, as if the derivative had not been halved, too. A run has
overshot when a step raises the objective within {steps:,} steps. The picture shows the first split
with the factor 2m; a curve that overshoots ends with a cross."""


def figure_one(findings: Findings) -> list[str | Table | Figure]:
    known = {name: findings.answers(name, CURVES.name) for name in CURVED}
    known = {name: runs for name, runs in known.items() if runs}
    if not known:
        return []
    first = {name: runs[0]["curves"] for name, runs in known.items()}
    head = ["data", "rate", "factor", "runs", "overshot", "steps", "objective at the end"]
    lines: list[list[Cell]] = []
    for name, runs in known.items():
        for place, curve in enumerate(runs[0]["curves"]):
            same = [run["curves"][place] for run in runs]
            over = sum(one["ended"] for one in same) if "scale" in curve else cells.DASH
            steps = Spread([one["steps"] for one in same], count)
            last = Spread([one["objective"][-1] for one in same])
            scale = curve.get("scale", cells.DASH)
            lines.append([name, str(curve["rate"]), scale, str(len(same)), str(over), steps, last])
    return [
        CURVE_WORDS.format(steps=STEPS),
        Figure("figure-1", "Objective against steps", partial(draw_curves, first)),
        Table("figure-1", head, lines),
    ]


SCALE = "2m"  # the factor of the fixed rates that is drawn


def draw_curves(known: Mapping[str, Sequence[Record]]) -> Any:
    """The objective against steps: a panel for each set."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(0.4 + 3.2 * len(known), 3.6), layout="constrained")
    panels = canvas.subplots(1, len(known), squeeze=False)[0]
    for panel, (name, every) in zip(panels, known.items(), strict=True):
        drawn = [one for one in every if one.get("scale", SCALE) == SCALE]
        for one, colour in zip(drawn, COLOURS, strict=False):
            own = "scale" not in one
            label = str(one["rate"]) if own else f"rate {one['rate']:g}"
            at = [step + 1 for step in one["at"]]
            style = {"color": colour, "linewidth": 2.2 if own else 1.2, "label": label}
            panel.loglog(at, one["objective"], **style)
            if one["ended"]:
                panel.plot(at[-1], one["objective"][-1], "o" if own else "x", color=colour)
        panel.set_title(name, fontsize=9)
        panel.set_xlabel("steps + 1", fontsize=9)
        tidy(panel)
    panels[0].set_ylabel("objective", fontsize=9)
    legend = panels[0].get_legend_handles_labels()
    canvas.legend(*legend, loc="outside upper center", ncols=6, frameon=False, fontsize=8)
    return canvas


TABLE_WORDS = """\
Test errors in %, mean ± standard deviation over the splits. SVM (BEST) is the machine of the
regularization path that does best on the *test* rows, as in the paper: nobody can choose it in
practice, and it is what the others are measured against. For `adult` it comes from a grid, and the
kernel that its ensembles are trained with has rank {rank:,}. *5 folds*: C by cross-validation
(scikit-learn) over {grid} values."""


def hundredths(value: float) -> str:
    return f"{value:.2f}"


def errors(findings: Findings, problem: str, column: str) -> dict[int, float]:
    """Test errors in % of a column of Table 2, by split."""
    method, key = OUR_COLUMNS[column][1:]
    return {run["seed"]: 100 * (1 - run[key]) for run in findings.answers(problem, method)}


# title, method, and key of its records
OUR_COLUMNS = {
    "best": ("SVM (BEST)", PATH.name, "accuracy"),
    "loo": ("SVM (LOO)", PATH.name, "loo_accuracy"),
    "parzen": ("Parzen window", PARZEN.name, "accuracy"),
    "rho-svm": ("rho-SVM", LAST.name, "accuracy"),
    "ensemble": ("ensemble, to the letter", LITERAL.name, "accuracy"),
    "default": ("ensemble, default", ADAPTIVE.name, "accuracy"),
    "folds": ("5 folds", THEIRS.name, "accuracy"),
}


def table_two(findings: Findings) -> list[str | Table | Figure]:
    head = ["data", "rows", "splits", *(title for title, _, _ in OUR_COLUMNS.values())]
    lines: list[list[Cell]] = []
    for name, rows in findings.sizes().items():
        found = {column: errors(findings, name, column) for column in OUR_COLUMNS}
        if not any(found.values()):
            continue
        numbers = [
            Spread(list(v.values()), hundredths) if v else cells.DASH for v in found.values()
        ]
        lines.append([name, f"{rows:,}", str(len(found["parzen"])), *numbers])
        said = PRINTED.get(SETS[name].printed)
        told = [str(value) for value in said] if said else [cells.NOT_IN_TEXT] * len(COLUMNS)
        lines.append([f"paper: {SETS[name].printed}", *[cells.DASH] * 2, *told, *[cells.DASH] * 2])
    return [TABLE_WORDS.format(rank=RANK, grid=len(GRID)), Table("table-2", head, lines)]


GOAL_WORDS = """\
Test error of the ensemble less that of SVM (BEST), in points, on the same splits; and less that of
a machine that one could have had, with C by cross-validation."""


def distance(findings: Findings, problem: str, column: str, base: str) -> float | None:
    """Mean difference of two columns over the splits that both have."""
    ours, theirs = (errors(findings, problem, one) for one in (column, base))
    both = ours.keys() & theirs.keys()
    return fmean(ours[seed] - theirs[seed] for seed in sorted(both)) if both else None


def distances(findings: Findings) -> Table:
    """For each line of the paper's Table 2, and on average."""
    pairs = [("ensemble", "best"), ("default", "best"), ("ensemble", "folds"), ("default", "folds")]
    head = ["data", "paper: to BEST"]
    for column, base in pairs:
        title = OUR_COLUMNS[column][0]
        head.append(f"{title}: to {'BEST' if base == 'best' else '5 folds'}")
    lines: list[list[Cell]] = []
    every: list[list[float]] = [[] for _ in pairs]
    for name in COMPARED:
        found = [distance(findings, name, *pair) for pair in pairs]
        if found[0] is None:
            continue
        line = PRINTED[SETS[name].printed]
        lines.append([name, f"{line[-1] - line[0]:+.2f}", *map(signed, found)])
        for values, value in zip(every, found, strict=True):
            values += [] if value is None else [value]
    if not lines:
        return Table("distances", head, lines)
    means = [fmean(values) if values else None for values in every]
    there = [str(line[0]) for line in lines]
    lines.append([f"mean of {len(there)}", signed(printed_distance(there)), *map(signed, means)])
    return Table("distances", head, lines)


def signed(value: float | None) -> str:
    return cells.DASH if value is None else f"{value:+.2f}"


TIME_WORDS = """\
The text that we have ends before Table 3, so these are our times alone: processor time of training
in seconds, which other processes on the machine lengthen less than the wall clock. *steps* of an
ensemble; *breaks* of the path from C {low:g} to {high:g}, for `adult` the points of a grid instead.
Choosing a machine of the path is not in its time. *5 folds*: {fits} fits, of scikit-learn (LIBSVM),
and of widestreet with warm starts from one C to the next. The last column is the time of 5 folds of
scikit-learn divided by that of the default ensemble."""


def processor(runs: Sequence[Record]) -> Cell:
    return cells.spread(runs, "processor")


def table_three(findings: Findings) -> list[str | Table | Figure]:
    head = ["data", "rows"]
    for title in ("letter", "default"):
        head += [f"{title}: steps", f"{title}: s"]
    head += ["breaks", "path: s", "5 folds, scikit-learn: s", "5 folds, widestreet: s", "ratio"]
    lines: list[list[Cell]] = []
    for name, rows in findings.sizes().items():
        line: list[Cell] = [name, f"{rows:,}"]
        for method in (LITERAL, ADAPTIVE, PATH):
            runs = findings.answers(name, method.name)
            line += [cells.spread(runs, "steps", count), processor(runs)]
        line += [processor(findings.answers(name, m.name)) for m in (THEIRS, OURS)]
        ratio = times(findings, name, THEIRS.name)
        line.append(cells.DASH if ratio is None else digits(ratio))
        if findings.answers(name, ADAPTIVE.name):
            lines.append(line)
    low, high = PATH.parameters["between"]
    words = TIME_WORDS.format(low=low, high=high, fits=fits(FOLDS))
    return [words, Table("table-3", head, lines)]


def times(findings: Findings, problem: str, method: str) -> float | None:
    """Processor time of a method divided by that of the default ensemble."""
    slow, fast = (findings.mean(problem, m, "processor") for m in (method, ADAPTIVE.name))
    return None if slow is None or fast is None else slow / fast


END_WORDS = """\
Algorithm 1 halves its epsilon, {start:g} at first, whenever a step overshoots, and ends when it is
below {end:g}. Here it ends sooner, too. In each cell the test error of the ensemble, that of its
last member (the rho-SVM), and the steps; means over the splits. The last line: by how many points,
on average over the lines of the paper's Table 2, the two errors differ from those that it
prints."""


def sooner(findings: Findings) -> list[str | Table | Figure]:
    known = ends(findings)
    if not known:
        return []
    lines: list[list[Cell]] = []
    numbers: list[list[Cell]] = []
    for name, cells_of in known.items():
        written = [
            f"{100 * c['ensemble']:.1f}, {100 * c['last']:.1f}, {count(c['steps'])}"
            for c in cells_of
        ]
        lines.append([name, *written])
        for epsilon, c in zip(EPSILONS, cells_of, strict=True):
            values = [f"{100 * c[key]:.3f}" for key in ("ensemble", "last")]
            numbers.append([name, f"{epsilon:g}", *values, f"{c['steps']:.2f}"])
    away = [f"{a:.2f}, {b:.2f}" for a, b in zip(*map(partial(apart, known), APART), strict=True)]
    lines.append(["from the paper", *away])
    names = ["data", "epsilon", "ensemble", "rho-SVM", "steps"]
    return [
        END_WORDS.format(start=EPSILONS[0], end=EPSILONS[-1]),
        Table("endings", ["data", *(f"until {epsilon:g}" for epsilon in EPSILONS)], lines),
        Table("endings-numbers", names, numbers, long=True),
    ]


def ends(findings: Findings) -> dict[str, list[Record]]:
    """Means over the splits, for each epsilon."""
    found = {}
    for name in SETS:
        runs = [run["cells"] for run in findings.answers(name, ENDINGS.name)]
        if runs:
            found[name] = [
                {key: fmean(c[key] for c in same) for key in ("ensemble", "last", "steps")}
                for same in zip(*runs, strict=True)
            ]
    return found


APART = {"ensemble": "ensemble", "last": "rho-svm"}  # and their columns in the paper


def apart(known: Mapping[str, Sequence[Record]], what: str) -> list[float]:
    """Mean distance of a column from the paper's, for each epsilon."""
    place = COLUMNS.index(APART[what])
    return [
        fmean(
            abs(100 * known[name][i][what] - PRINTED[SETS[name].printed][place])
            for name in COMPARED
            if name in known
        )
        for i in range(len(EPSILONS))
    ]


# -- what is said ----------------------------------------------------------------------------------


def facts(findings: Findings) -> dict[str, str]:
    """The numbers that the words have places for."""
    found = {}
    for name in SETS:
        for column in OUR_COLUMNS:
            values = errors(findings, name, column)
            if values:
                found[slot(name, column, "error")] = f"{fmean(values.values()):.1f}"
            elif column != "folds":
                raise KeyError(f"{column} of {name}")
        for column, value in zip(COLUMNS, PRINTED.get(SETS[name].printed, ()), strict=False):
            found[slot("paper", name, column)] = str(value)
    return (
        found
        | goal_facts(findings)
        | time_facts(findings)
        | end_facts(findings)
        | curve_facts(findings)
    )


def goal_facts(findings: Findings) -> dict[str, str]:
    """The distance from the best-tuned machine, the paper's and ours."""
    found = {"paper_distance": signed(printed_distance(COMPARED))}
    for column in ("ensemble", "default"):
        for base in ("best", "folds"):
            every = {name: distance(findings, name, column, base) for name in COMPARED}
            known = {name: value for name, value in every.items() if value is not None}
            mean = fmean(known.values())
            found[f"{column}_to_{base}"] = f"{mean:+.2f}"
            found[f"{column}_to_{base}_median"] = f"{median(known.values()):+.2f}"
            found[f"{column}_to_{base}_sets"] = str(len(known))
        near = [name for name in COMPARED if not _farther(findings, name, column)]
        far = [name for name in COMPARED if name not in near]
        found[f"{column}_near"], found[f"{column}_far"] = named(near), named(far)
        found[f"{column}_near_count"] = str(len(near))
    for place, column in enumerate(COLUMNS):
        less = [
            fmean(errors(findings, name, column).values()) - PRINTED[SETS[name].printed][place]
            for name in COMPARED
        ]
        found[f"{column}_less_paper"] = f"{fmean(less):+.2f}"
    found["compared"] = str(len(COMPARED))
    return found


def _farther(findings: Findings, name: str, column: str) -> bool:
    """Whether our ensemble is farther from our best machine than the paper's from its own."""
    line, ours = PRINTED[SETS[name].printed], distance(findings, name, column, "best")
    return ours is None or ours > line[-1] - line[0]


def named(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def time_facts(findings: Findings) -> dict[str, str]:
    """Ratios of processor times to that of the default ensemble."""
    found = {}
    for method in (THEIRS.name, OURS.name, PATH.name):
        known = {name: times(findings, name, method) for name in SETS}
        there = {name: value for name, value in known.items() if value is not None}
        if not there:
            raise KeyError(f"times of {method}")
        for name, value in there.items():
            found[slot(name, method, "times")] = digits(value)
        logs = [math.log(value) for value in there.values()]
        found[slot("mean", method, "times")] = digits(math.exp(fmean(logs)))
        faster = [name for name, value in there.items() if value < 1]
        found[slot("ensemble", method, "slower")] = named(faster)
        found[slot("ensemble", method, "faster_count")] = (
            f"{len(there) - len(faster)} of {len(there)}"
        )
    for name in SETS:
        for method in (LITERAL.name, ADAPTIVE.name, PATH.name):
            for key, form in (("steps", count), ("processor", digits)):
                mean = findings.mean(name, method, key)
                if mean is not None:
                    found[slot(name, method, key)] = form(mean)
    return found


def end_facts(findings: Findings) -> dict[str, str]:
    """How far the ensembles are from the paper's, if they end sooner or later."""
    known, found = ends(findings), {}
    missing = [name for name in COMPARED if name not in known]
    if missing:
        raise KeyError(f"{ENDINGS.name} of {missing[0]}")
    for what in APART:
        for place, value in enumerate(apart(known, what)):
            found[f"{what}_apart_{place}"] = f"{value:.1f}"
    for name, cells_of in known.items():
        for place, c in enumerate(cells_of):
            found[slot(name, "end", str(place))] = f"{100 * c['ensemble']:.1f}"
            found[slot(name, "end_steps", str(place))] = count(c["steps"])
    return found


def curve_facts(findings: Findings) -> dict[str, str]:
    """How many runs of each fixed rate overshot, and how far all of them came."""
    found = {}
    for name in CURVED:
        runs = findings.answers(name, CURVES.name)
        if not runs:
            raise KeyError(f"Figure 1 of {name}")
        for place, curve in enumerate(runs[0]["curves"]):
            same = [run["curves"][place] for run in runs]
            what = slot(name, f"{curve['rate']}".replace(".", ""), curve.get("scale", "own"))
            found[f"{what}_over"] = str(sum(one["ended"] for one in same))
            found[f"{what}_steps"] = count(median(one["steps"] for one in same))
            found[f"{what}_last"] = f"{median(one['objective'][-1] for one in same):.2g}"
        found[slot(name, "curve", "runs")] = str(len(runs))
    return found


TEXT = """\
*error*: part of the test rows that are misclassified. *beta*: mean squared distance of the training
rows to their mean, the width of the paper's Gaussian kernel. *ensemble, to the letter*: Algorithm 1
(`EnsembleSVC(learning_rate="literal")`); *default*: `EnsembleSVC()`, whose steps may become more
ambitious again. *rho-SVM* and *Parzen window*: the last and the first member of the former.
*steps*: updates that were accepted. Machines with a C were solved to a violation of {tol:g} or
better."""

PAPER = Paper(
    name="ensemble",
    title="Ensembles of partially trained SVMs",
    reference=(
        'Tsang and Kwok, "Ensembles of Partially Trained SVMs with Multiplicative Updates" (IJCAI '
        "2007): Figure 1 and Table 2, and times of our own for Table 3. Its method is "
        '`widestreet.EnsembleSVC(learning_rate="literal")`.'
    ),
    problems=problems,
    plan=plan,
    sections=sections,
    facts=facts,
    words=Path(__file__).with_suffix(".md"),
    measure=measure,
    columns=TEXT,
)
