"""Ensembles of partially trained SVMs: Figure 1, Tables 2 and 3.

Figure 1 is a picture without numbers, and the text available here ends before Table 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from widestreet._experiments.harness import tables as cells
from widestreet._experiments.harness.plots import COLOURS, tidy
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.report import Figure, Section, Table
from widestreet._experiments.harness.tables import Cell, Spread, count, digits
from widestreet._experiments.papers import ensemble_plan as plan
from widestreet._experiments.papers.ensemble_methods import fits, measure
from widestreet._experiments.papers.ensemble_numbers import (
    APART,
    OUR_COLUMNS,
    apart,
    distance,
    ends,
    errors,
    facts,
    signed,
    times,
    to_best,
)
from widestreet._experiments.papers.paper import Findings, Paper

# -- what is shown ---------------------------------------------------------------------------------


def sections(findings: Findings) -> list[Section]:
    """Return Figure 1, Table 2 with distances, Table 3, and earlier ends."""
    return [
        Section("Figure 1: rates of learning", figure_one(findings)),
        Section("Table 2: test errors", table_two(findings)),
        Section("The ensemble against the best-tuned SVM", [GOAL_WORDS, distances(findings)]),
        Section("Table 3: time", table_three(findings)),
        Section("Earlier ends", sooner(findings)),
    ]


CURVE_WORDS = """\
The paper's Figure 1 is a picture without numbers. It does not say what its fixed rates multiply.
Here they multiply y f(x) of weights that sum to one, times the factor in the table: 1; m, the
number of rows, as if the weights had mean one; and 2m, as if the derivative had not been halved
either. A run has overshot when a step raises the objective within {steps:,} steps. The picture
shows the first split with the factor 2m; a curve that overshoots ends with a cross, Algorithm 1
with a dot."""


def figure_one(findings: Findings) -> list[str | Table | Figure]:
    known = {name: findings.answers(name, plan.CURVES.name) for name in plan.CURVED}
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
        CURVE_WORDS.format(steps=plan.STEPS),
        Figure("figure-1", "Objective against steps", partial(draw_curves, first)),
        Table("figure-1", head, lines),
    ]


SCALE = "2m"  # the factor of the fixed rates that is drawn


def draw_curves(known: Mapping[str, Sequence[Record]]) -> Any:
    """The objective against steps: a panel for each set."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(0.4 + 3.2 * len(known), 3.6), layout="constrained")
    panels = canvas.subplots(1, len(known), squeeze=False, sharey=True)[0]
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
Test errors in %, mean ± standard deviation over the splits. SVM (BEST) is the SVM of the
regularization path ({values} of its breakpoints) with the lowest error on the *test* rows, as in
the paper; it is a reference that cannot be chosen in practice. For `adult` it comes from a grid,
and the kernel of its ensembles has rank {rank:,}. *5 folds*: C by cross-validation
(scikit-learn) over {grid} values."""


def hundredths(value: float) -> str:
    return f"{value:.2f}"


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
        said = plan.PRINTED.get(plan.SETS[name].printed)
        told = [str(value) for value in said] if said else [cells.NOT_IN_TEXT] * len(plan.COLUMNS)
        lines.append(
            [f"paper: {plan.SETS[name].printed}", *[cells.DASH] * 2, *told, *[cells.DASH] * 2]
        )
    return [
        TABLE_WORDS.format(
            values=plan.PATH.parameters["values"], rank=plan.RANK, grid=len(plan.GRID)
        ),
        Table("table-2", head, lines),
    ]


GOAL_WORDS = """\
Test error of the ensemble minus that of SVM (BEST), in points, on the same splits; and minus
that of an SVM whose C is chosen by cross-validation."""


def distances(findings: Findings) -> Table:
    """For each line of the paper's Table 2, and on average."""
    pairs = [("ensemble", "best"), ("default", "best"), ("ensemble", "folds"), ("default", "folds")]
    head = ["data", "paper: to BEST"]
    for column, base in pairs:
        title = OUR_COLUMNS[column][0]
        head.append(f"{title}: to {'BEST' if base == 'best' else '5 folds'}")
    lines: list[list[Cell]] = []
    every: list[list[float]] = [[] for _ in pairs]
    for name in plan.COMPARED:
        found = [distance(findings, name, *pair) for pair in pairs]
        if found[0] is None:
            continue
        line = plan.PRINTED[plan.SETS[name].printed]
        lines.append([name, f"{line[-1] - line[0]:+.2f}", *map(signed, found)])
        for values, value in zip(every, found, strict=True):
            values += [] if value is None else [value]
    if not lines:
        return Table("distances", head, lines)
    means = [fmean(values) if values else None for values in every]
    there = [str(line[0]) for line in lines]
    lines.append(
        [f"mean of {len(there)}", signed(plan.printed_distance(there)), *map(signed, means)]
    )
    return Table("distances", head, lines)


TIME_WORDS = """\
The text available here ends before Table 3, so these are our times only: processor time of
training in seconds, which other processes on the machine affect less than the wall clock.
*steps* of an ensemble; *breaks* of the path from C {low:g} to {high:g}, for `adult` the points
of a grid instead. The time to choose an SVM of the path is not included. *5 folds*: {fits} fits,
of scikit-learn (LIBSVM), and of widestreet with warm starts from one C to the next. The last
column is the time of 5 folds of scikit-learn divided by that of the default ensemble."""


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
        for method in (plan.LITERAL, plan.DEFAULT, plan.PATH):
            runs = findings.answers(name, method.name)
            line += [cells.spread(runs, "steps", count), processor(runs)]
        line += [processor(findings.answers(name, m.name)) for m in (plan.THEIRS, plan.OURS)]
        ratio = times(findings, name, plan.THEIRS.name)
        line.append(cells.DASH if ratio is None else digits(ratio))
        if findings.answers(name, plan.DEFAULT.name):
            lines.append(line)
    low, high = plan.PATH.parameters["between"]
    words = TIME_WORDS.format(low=low, high=high, fits=fits(plan.FOLDS))
    return [words, Table("table-3", head, lines)]


END_WORDS = """\
Algorithm 1 halves its epsilon, {start:g} at first, whenever a step overshoots, and ends when
epsilon is below {end:g}. The columns are earlier ends. Each cell has the test error of the
ensemble, that of its last member (the rho-SVM), and the steps; means over the splits. The last
lines are means over the lines of the paper's Table 2: by how many points the two errors differ
from the printed ones, and how far the ensemble is from SVM (BEST)."""


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
        for epsilon, c in zip(plan.EPSILONS, cells_of, strict=True):
            values = [f"{100 * c[key]:.3f}" for key in ("ensemble", "last")]
            numbers.append([name, f"{epsilon:g}", *values, f"{c['steps']:.2f}"])
    away = [f"{a:.2f}, {b:.2f}" for a, b in zip(*map(partial(apart, known), APART), strict=True)]
    lines.append(["from the paper", *away])
    lines.append(["ensemble: to BEST", *map(signed, to_best(findings))])
    names = ["data", "epsilon", "ensemble", "rho-SVM", "steps"]
    return [
        END_WORDS.format(start=plan.EPSILONS[0], end=plan.EPSILONS[-1]),
        Table("endings", ["data", *(f"until {epsilon:g}" for epsilon in plan.EPSILONS)], lines),
        Table("endings-numbers", names, numbers, long=True),
    ]


TEXT = """\
*error*: share of the test rows that are misclassified. *beta*: mean squared distance of the
training rows to their mean, the width of the paper's Gaussian kernel. *ensemble, literal*:
Algorithm 1 (`EnsembleSVC(learning_rate="literal", folds=None)`); *default*: `EnsembleSVC()`,
whose epsilon may grow again, and whose number of members is chosen by five folds of the training
rows. *rho-SVM* and *Parzen window*: the last and the first member of the literal ensemble.
*steps*: updates that were accepted. SVMs with a C were solved to a violation of {tol:g} or
better."""

PAPER = Paper(
    name="ensemble",
    title="Ensembles of partially trained SVMs",
    reference=(
        'Tsang and Kwok, "Ensembles of Partially Trained SVMs with Multiplicative Updates" (IJCAI '
        "2007): Figure 1 and Table 2, and times of our own for Table 3. Its method is "
        '`widestreet.EnsembleSVC(learning_rate="literal", folds=None)`.'
    ),
    problems=plan.problems,
    plan=plan.plan,
    sections=sections,
    facts=facts,
    measure=measure,
    columns=TEXT,
)
