"""Figures 2 and 3 of INSVR: steps of the three stages, and time, of one more sample.

The figures of the paper are pictures without numbers.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from widestreet._experiments.harness.measurement import Method
from widestreet._experiments.harness.plots import COLOURS, MARKERS, tidy
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.report import Figure, Table
from widestreet._experiments.harness.tables import Cell, count, digits
from widestreet._experiments.papers.insvr_problems import KERNELS, SETS
from widestreet._experiments.papers.insvr_trials import STAGES, WAYS, cells_of
from widestreet._experiments.papers.paper import Findings

REPEATS = 20  # section 4.1
# nu l / 2 is never a whole number here, which would be a case of its own: see the words
SIZES, QUICK_SIZES = (50, 110, 210, 410, 810, 1610), (50, 110, 210)
SECONDS, QUICK_SECONDS = 5.0, 1.5  # of every set and kernel
WAY_TITLES = {
    "insvr": "INSVR",
    "path": "widestreet, one row",
    "libsvm": "scikit-learn, cold",
    "cold": "widestreet, cold",
    "warm": "widestreet, warm",
}


def method(quick: bool) -> Method:
    """Trials of all sizes, in every way."""
    sizes, seconds = (QUICK_SIZES, QUICK_SECONDS) if quick else (SIZES, SECONDS)
    chosen = {"sizes": list(sizes), "trials": REPEATS, "seconds": seconds}
    return Method("figures", "one more row, all methods", "INSVR", chosen)


def curves(findings: Findings) -> dict[str, dict[str, list[Record]]]:
    """Cells of the figures by set and kernel."""
    found: dict[str, dict[str, list[Record]]] = {}
    for name in SETS:
        for kernel in KERNELS:
            cells = list(cells_of(findings.answers(f"{name}-{kernel}", "figures")))
            if cells:
                found.setdefault(name, {})[kernel] = cells
    return found


def figure_two(findings: Findings) -> list[str | Table | Figure]:
    """Steps at the largest size on the page, all in a file."""
    known = curves(findings)
    if not known:
        return []
    head = ["data", "kernel", "l", "trials", "failed", "IA", "RAIA", "SRA", "together"]
    head += ["steps of our path"]
    lines, every = [], []
    for name, kernel, cells in _flat(known):
        for cell in cells:
            steps = [cell[stage] for stage in STAGES]
            numbers = [f"{value:.2f}" for value in (*steps, sum(steps), cell["steps"])]
            line = [SETS[name][0], KERNELS[kernel], f"{cell['size']:,}"]
            every.append([*line, str(cell["trials"]), str(cell["failed"]), *numbers])
        lines.append(every[-1])
    title = "Average steps of IA, RAIA and SRA against the training size"
    return [
        FIGURE_TWO_WORDS,
        Figure("figure-2", title, partial(draw_steps, known)),
        Table("figure-2-largest", head, lines),
        Table("figure-2", head, every, long=True),
    ]


FIGURE_TWO_WORDS = """\
The paper's Figure 2 is a picture without numbers: "these three steps exhibit quick convergence
for all benchmark datasets and kernels, especially IA". Means over the trials; the table has the
largest training size l of each set and kernel, the file all of them. The path of `OnlineNuSVR`
goes from the old optimum to the new one in one stage."""


def _flat(known: dict[str, dict[str, list[Record]]]) -> list[tuple[str, str, list[Record]]]:
    return [(name, kernel, cells) for name, of in known.items() for kernel, cells in of.items()]


def figure_three(findings: Findings) -> list[str | Table | Figure]:
    """Times at the largest size on the page, all in a file; and the checks."""
    known = curves(findings)
    if not known:
        return []
    head = ["data", "kernel", "l", *(f"{title}, ms" for title in WAY_TITLES.values())]
    checks = [f"{title}: {what}" for title in WAY_TITLES.values() for what in ("violation", "gap")]
    lines, every = [], []
    for name, kernel, cells in _flat(known):
        for cell in cells:
            line = [SETS[name][0], KERNELS[kernel], f"{cell['size']:,}"]
            line += [digits(1e3 * cell[way]["seconds"]) for way in WAYS]
            proofs = [f"{cell[way][key]:.1e}" for way in WAYS for key in ("violation", "gap")]
            every.append([*line, str(cell["trials"]), *proofs])
        lines.append(line)
    worst: list[list[Cell]] = []
    for way, title in WAY_TITLES.items():
        both = [
            [c[way][key] for _, _, cs in _flat(known) for c in cs] for key in ("violation", "gap")
        ]
        worst.append([title, *(f"{max(values):.1e}" for values in both)])
    title = "Time of one more sample against the training size"
    return [
        FIGURE_THREE_WORDS,
        Figure("figure-3", title, partial(draw_times, known)),
        Table("figure-3-largest", head, lines),
        CHECK_WORDS,
        Table("figure-3-checks", ["method", "worst violation", "worst relative gap"], worst),
        Table("figure-3", [*head, "trials", *checks], every, long=True),
    ]


FIGURE_THREE_WORDS = """\
The paper's Figure 3 is a picture without numbers: INSVR "is generally much faster than the batch
implementations using both cold start and warm start", all of them written in MATLAB. Means over
the trials at the largest training size l; the file has all sizes. scikit-learn has no warm
start; that of widestreet starts at the solution of as many rows, one of which is then replaced
by the new one."""

CHECK_WORDS = """\
The worst over all sizes and trials, computed in the same way for every method:"""


def draw_steps(known: dict[str, dict[str, list[Record]]]) -> Any:
    labels = {stage: stage.upper() for stage in STAGES} | {"steps": "our path"}
    canvas, panels = _panels(known, "steps", together=False)
    for panel, cells in panels:
        sizes = [cell["size"] for cell in cells]
        for place, (what, label) in enumerate(labels.items()):
            style = {"color": COLOURS[(0, 2, 4, 7)[place]], "marker": MARKERS[place]}
            panel.plot(sizes, [cell[what] for cell in cells], label=label, **style, **LINE)
    return _with_legend(canvas, panels)


def draw_times(known: dict[str, dict[str, list[Record]]]) -> Any:
    canvas, panels = _panels(known, "ms", together=True)
    for panel, cells in panels:
        sizes = [cell["size"] for cell in cells]
        for place, (way, label) in enumerate(WAY_TITLES.items()):
            style = {"color": COLOURS[(0, 4, 3, 2, 5)[place]], "marker": MARKERS[place]}
            values = [1e3 * cell[way]["seconds"] for cell in cells]
            panel.plot(sizes, values, label=label, **style, **LINE)
        panel.set_yscale("log")
    return _with_legend(canvas, panels)


LINE = {"markersize": 3, "linewidth": 1.2}


def _panels(
    known: dict[str, dict[str, list[Record]]], what: str, together: bool
) -> tuple[Any, list[tuple[Any, list[Record]]]]:
    """A row of panels for each set, one for each kernel, with what is to be drawn there."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(8.4, 0.8 + 1.5 * len(known)), layout="constrained")
    shape = (len(known), len(KERNELS))
    axes = canvas.subplots(*shape, squeeze=False, sharex=True, sharey=together)
    axes[0][0].set_xscale("log")
    axes[0][0].set_xticks(SIZES, [f"{size:,}" for size in SIZES])
    axes[0][0].set_xticks([], minor=True)
    found = []
    for row, (name, of) in zip(axes, known.items(), strict=True):
        row[0].set_ylabel(what, fontsize=8)
        for panel, kernel in zip(row, KERNELS, strict=True):
            panel.set_title(f"{SETS[name][0]}, {KERNELS[kernel]}", fontsize=8)
            tidy(panel)
            panel.tick_params(labelsize=7)
            found.append((panel, of.get(kernel, [])))
    for panel in axes[-1]:
        panel.set_xlabel("l", fontsize=8)
    return canvas, found


def _with_legend(canvas: Any, panels: list[tuple[Any, list[Record]]]) -> Any:
    legend = panels[0][0].get_legend_handles_labels()
    canvas.legend(*legend, loc="outside upper center", ncols=5, frameon=False, fontsize=8)
    return canvas


def facts(findings: Findings) -> dict[str, str]:
    """Return steps, and ratios of times, over all sets and kernels."""
    known = curves(findings)
    missing = [name for name in SETS if name != "year" and name not in known]
    if missing:
        raise KeyError(f"Figures 2 and 3 of {missing[0]}")
    every = [cells for _, _, cells in _flat(known)]
    last, first = [cells[-1] for cells in every], [cells[0] for cells in every]
    found = {"smallest": count(first[0]["size"])}
    found["largest"] = count(max(cell["size"] for cell in last))
    for what in (*STAGES, "steps"):
        values = [cell[what] for cell in last]
        found |= {
            f"{what}_mean": f"{sum(values) / len(values):.1f}",
            f"{what}_most": f"{max(values):.1f}",
        }
    for end, cells in (("mean", last), ("small", first)):
        together = [sum(cell[stage] for stage in STAGES) for cell in cells]
        found[f"stages_{end}"] = f"{sum(together) / len(together):.1f}"
    largest = [cell for cell in last if cell["size"] == max(cell["size"] for cell in last)]
    for way in WAYS:
        for end, cells in (("", last), ("_small", first), ("_largest", largest)):
            logs = [math.log(cell[way]["seconds"] / cell["insvr"]["seconds"]) for cell in cells]
            found[f"{way}_times{end}"] = digits(math.exp(sum(logs) / len(logs)))
            slower = sum(value > 0 for value in logs)
            found[f"{way}_slower{end}"] = f"{slower} of {len(logs)}"
        checks = [cell[way]["violation"] for cells in every for cell in cells]
        found[f"{way}_violation"] = f"{max(checks):.0e}"
    return found
