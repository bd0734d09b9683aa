"""PRSVM: Figure 1, Table 1 and Figure 2.

The body of the paper's Table 1 is not in the text available here, nor is its kernel; what its
prose says is below.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from widestreet._experiments.harness.discovery import tasks
from widestreet._experiments.harness.measurement import AUTO, SKLEARN, Measurement, Method
from widestreet._experiments.harness.plots import COLOURS, MARKERS, tidy
from widestreet._experiments.harness.records import Record
from widestreet._experiments.harness.report import Figure, Section, Table
from widestreet._experiments.harness.tables import (
    CERTIFIED,
    DASH,
    NOT_IN_TEXT,
    Cell,
    accuracy,
    certified,
    count,
    repeats,
    seconds,
    spread,
)
from widestreet._experiments.harness.tables import vectors as support
from widestreet._experiments.papers import data
from widestreet._experiments.papers.paper import Findings, Paper, Problem, slot
from widestreet._src.engines.sampling.multiset import Multiset

# -- the paper -------------------------------------------------------------------------------------

PRINTED_ITERATIONS = "13"  # section 5.1: of the synthetic set
POINTS, POINTS_SAMPLE = 1000, 100  # section 5.1
FACTOR = 0.2  # sections 5.1 and 5.2: the regularization factor, which we read as C
SAMPLE, SITES = 60_000, (1, 2, 4)  # section 5.2
# section 5.2 says of Table 1 only that SVM-light is faster than RSVM and PRSVM
PRINTED_METHODS = ("SVM-light", "RSVM (C = 1)", "PRSVM (C = 2)", "PRSVM (C = 4)")

# -- what is run -----------------------------------------------------------------------------------

FOREST = "covtype-4"
CENTRES = {"two-gaussians": 1.5, "nearer": 1.25, "nearest": 1.0}
GAUSSIANS = next(iter(CENTRES))
ROUNDS, MANY_ROUNDS = 30, 200
DIMENSION = 10  # of r = 60,000 >= 6 delta^2 one may choose any delta up to 100
LIMIT = 100.0


def letter(sites: int, sample: int, rounds: int = ROUNDS, dimension: int | None = None) -> Method:
    """RSVM or PRSVM as printed; the largest delta that the sample allows, unless one is given."""
    chosen: dict[str, Any] = {"sample_size": sample, "max_rounds": rounds}
    chosen |= {"until_certified": False}
    if dimension is None:
        return _method(sites, chosen, "literal", "")
    chosen["combinatorial_dimension"] = dimension
    return _method(sites, chosen, f"literal, delta {dimension}", f"-{dimension}")


def improved(sites: int, sample: int) -> Method:
    """Return the same method until its solution is certified."""
    chosen = {"sample_size": sample, "max_rounds": ROUNDS}
    return _method(sites, chosen, "until certified", "-certified")


def in_processes(sites: int, sample: int) -> Method:
    """Return the same with as many worker processes of a cluster as there are sites."""
    one = improved(sites, sample)
    processes = f"{sites} worker process" + ("es" if sites > 1 else "")
    return replace(
        one, name=f"{one.name}-cluster", title=f"{one.title}, {processes}", processes=sites
    )


def _method(sites: int, chosen: dict[str, Any], words: str, ending: str) -> Method:
    if sites == 1:
        return Method(f"rsvm{ending}", f"RSVM, {words}", "RSVM", chosen)
    title = f"PRSVM, {sites} sites, {words}"
    return Method(f"prsvm-{sites}{ending}", title, "PRSVM", {"sites": sites} | chosen)


def problems() -> dict[str, Problem]:
    """Two Gaussians, and class 4 of the forest."""
    forest = tasks()[FOREST]
    found = {name: gaussians(name, centre) for name, centre in CENTRES.items()}
    found[FOREST] = Problem(
        FOREST,
        forest.load,
        forest.rows,
        "svc",
        forest.gamma,
        FACTOR,
        "C: the paper's; kernel and gamma, which are not in the text: those of the race",
        files=forest.files,
        fetched=forest.fetched,
        source="covtype, class 4 against the rest, columns scaled to [0, 1]; as many rows as the "
        "paper has, drawn at random",
    )
    return found


def gaussians(name: str, centre: float) -> Problem:
    """A thousand points about two centres."""
    return Problem(
        name,
        partial(data.two_gaussians, centre),
        POINTS,
        "svc",
        gamma=1.0,
        C=FACTOR,
        origin="C: the paper's; its kernel is not in the text, a line is easily drawn",
        kernel="linear",
        source=f"centres ({centre:g}, {centre:g}) and (-{centre:g}, -{centre:g}), deviation 0.5, "
        "noise 0.3 on top; the paper does not say",
    )


def plan(quick: bool) -> list[Measurement]:
    """The synthetic sets with ten seeds, the forest with one, as in the paper."""
    one = letter(1, POINTS_SAMPLE, MANY_ROUNDS)
    found = [Measurement(name, POINTS, one, seed, LIMIT) for name in CENTRES for seed in range(10)]
    found += [Measurement(name, POINTS, AUTO, 0, LIMIT) for name in CENTRES]
    every = problems()[FOREST].rows
    rows = 40_000 if quick else every
    sample, limit = SAMPLE * rows // every, 20.0 if quick else LIMIT
    methods = [letter(1, sample)]
    methods += [letter(sites, sample, ROUNDS, DIMENSION) for sites in SITES]
    methods += [improved(sites, sample) for sites in SITES]
    methods += [*(in_processes(sites, sample) for sites in SITES), AUTO, SKLEARN]
    return found + [Measurement(FOREST, rows, method, 0, limit) for method in methods]


@contextmanager
def watch(one: Measurement) -> Iterator[list[Any] | None]:
    """Record the levels of all rows when they change, for Figure 1: weights are 2 to this power."""
    if one.problem != GAUSSIANS or one.seed > 0:
        yield None
        return
    levels: list[Any] = []
    double = Multiset.double

    def doubled(multiset: Multiset, ids: Any, times: Any) -> None:
        double(multiset, ids, times)
        levels.append(multiset.level(np.arange(multiset.rows)))

    with patch.object(Multiset, "double", doubled):
        yield levels


def remarks(one: Measurement, trace: Any, watched: Any) -> Record:
    """Violators, support vectors and successes of each iteration; levels for Figure 1."""
    rounds = [record for record in trace if "site_violators" in record.notes]
    found: Record = {}
    if rounds:
        found["iterations"] = len(rounds)
        found["violators_each"] = [int(record.violators) for record in rounds]
        found["vectors_each"] = [int(record.n_sv) for record in rounds]
        found["doubled_each"] = [int(record.notes["doubled"]) for record in rounds]
    if watched is not None:
        found["levels"] = [[int(level) for level in levels] for levels in watched]
    return found


# -- what is shown ---------------------------------------------------------------------------------


def sections(findings: Findings) -> list[Section]:
    """Figure 1, Table 1, Figure 2."""
    return [
        Section("Figure 1: weights on a set in two dimensions", figure_one(findings)),
        Section("Table 1: learning time on the forest", [table_one(findings)]),
        Section("Figure 2: violators and support vectors by iteration", figure_two(findings)),
    ]


def figure_one(findings: Findings) -> list[str | Table | Figure]:
    """Iterations of all runs, and the first one drawn."""
    head = ["data", "method", "runs", "iterations", "SVs", "test accuracy, %", *CERTIFIED]
    lines: list[list[Cell]] = []
    for name in CENTRES:
        for method in findings.methods(name):
            runs = findings.of(name, method.name)
            if runs:
                cells = [repeats(runs), spread(runs, "iterations", count), support(runs)]
                lines.append([name, method.title, *cells, accuracy(runs), *certified(runs)])
    said: list[Cell] = ["1", PRINTED_ITERATIONS, *[NOT_IN_TEXT] * 2]
    lines.append(["paper: section 5.1", "RSVM", *said, *[DASH] * len(CERTIFIED)])
    parts: list[str | Table | Figure] = [Table("figure-1", head, lines)]
    drawn = [r for r in findings.answers(GAUSSIANS, "rsvm") if r.get("levels")]
    if drawn:
        title = "Weights of the points at some iterations of RSVM"
        parts += [FIGURE_ONE_WORDS, Figure("figure-1", title, partial(draw_weights, drawn[0]))]
    return parts


FIGURE_ONE_WORDS = """\
The first run. A point's area grows with its weight, which doubles when the point violates the
solution of a sample and the violators are few enough; filled points have been doubled."""


def draw_weights(record: Record) -> Any:
    from matplotlib.figure import Figure as Canvas

    split = data.two_gaussians(CENTRES[record["problem"]], record["rows"])
    levels = np.array(record["levels"])
    chosen = np.unique(np.linspace(0, len(levels) - 1, min(4, len(levels))).round().astype(int))
    canvas = Canvas(figsize=(3.3 * len(chosen), 3.9), layout="constrained")
    panels = canvas.subplots(1, len(chosen), squeeze=False, sharex=True, sharey=True)
    for panel, place in zip(panels.flat, chosen, strict=True):
        level = levels[place]
        for label, colour in ((1, COLOURS[0]), (-1, COLOURS[3])):
            mine = split.y == label
            plain, heavy = mine & (level == 0), mine & (level > 0)
            panel.scatter(*split.X[plain].T, s=4, facecolors="none", edgecolors=colour, alpha=0.5)
            panel.scatter(*split.X[heavy].T, s=8.0 * 2.0 ** level[heavy], color=colour, alpha=0.7)
        panel.set_title(f"after iteration {place + 1}", fontsize=10)
        panel.set_aspect("equal")
        tidy(panel)
    return canvas


def table_one(findings: Findings) -> Table:
    """Return time, iterations and the certified solution."""
    head = ["method", "time, s", "iterations", "SVs", "test accuracy, %", *CERTIFIED]
    lines: list[list[Cell]] = []
    for method in findings.methods(FOREST):
        runs = findings.of(FOREST, method.name)
        if runs:
            cells = [seconds(runs), spread(runs, "iterations", count), support(runs)]
            lines.append([method.title, *cells, accuracy(runs), *certified(runs)])
    blank: list[Cell] = [DASH] * len(CERTIFIED)
    lines += [[f"paper: {name}", *[NOT_IN_TEXT] * 4, *blank] for name in PRINTED_METHODS]
    return Table("table-1", head, lines)


def curves(findings: Findings) -> dict[str, Record]:
    """Return the literal runs by title."""
    names = ["rsvm", *(letter(sites, SAMPLE, ROUNDS, DIMENSION).name for sites in SITES)]
    found = [run for name in names for run in findings.answers(FOREST, name)]
    return {r["method"]["title"]: r for r in found if r.get("violators_each")}


def figure_two(findings: Findings) -> list[str | Table | Figure]:
    """The numbers and the picture."""
    runs = curves(findings)
    if not runs:
        return []
    head = ["method", "iteration", "violators", "SVs", "sites that doubled"]
    keys = ("violators_each", "vectors_each", "doubled_each")
    lines = [
        [title, str(i + 1), *(f"{run[key][i]:,}" for key in keys)]
        for title, run in runs.items()
        for i in range(len(run["violators_each"]))
    ]
    title = "Violators and support vectors by iteration, one, two and four sites"
    return [
        FIGURE_TWO_WORDS,
        Figure("figure-2", title, partial(draw_curves, runs)),
        Table("figure-2", head, lines, long=True),
    ]


FIGURE_TWO_WORDS = """\
Numbers of the site with the fewest violators in each iteration."""


def draw_curves(runs: dict[str, Record]) -> Any:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(9.0, 4.4), layout="constrained")
    left, right = canvas.subplots(1, 2)
    for place, (title, run) in enumerate(runs.items()):
        style = {"color": COLOURS[(7, 0, 2, 4)[place]], "marker": MARKERS[place], "markersize": 4}
        steps = range(1, len(run["violators_each"]) + 1)
        left.plot(steps, run["violators_each"], label=title, **style)
        right.plot(steps, run["vectors_each"], label=title, **style)
    for panel, words in ((left, "violators"), (right, "support vectors")):
        panel.set_xlabel("iteration")
        panel.set_ylabel(words)
        panel.set_yscale("symlog" if panel is left else "linear")
        tidy(panel)
    canvas.legend(
        *left.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False
    )
    return canvas


def facts(findings: Findings) -> dict[str, str]:
    """Return the values of the places in the text."""
    found = findings.numbers()
    plain = findings.answers(FOREST, "rsvm")
    if not plain:
        raise KeyError(f"rsvm on {FOREST}")
    rows, run = findings.sizes()[FOREST], plain[0]
    found["paper_iterations"] = PRINTED_ITERATIONS
    found |= {"dimension": str(DIMENSION), "most_rounds": str(MANY_ROUNDS)}
    found["allowed"] = count(rows / (3 * (SAMPLE / 6) ** 0.5))
    found["fewest"] = count(min(run["violators_each"]))
    found["successes"] = count(sum(run["doubled_each"]))
    for sites in SITES:
        runs = findings.answers(FOREST, letter(sites, SAMPLE, ROUNDS, DIMENSION).name)
        found[f"tenth_{sites}"] = tenth(runs)
    for name in ("rsvm-certified", "prsvm-2-certified", "prsvm-4-certified", "libsvm"):
        found[slot(name, "times", "auto")] = findings.times(FOREST, name, "auto")
    return found


def tenth(runs: list[Record]) -> str:
    """The first iteration with at most a tenth of the first one's violators."""
    if not runs:
        raise KeyError("PRSVM")
    few = runs[0]["violators_each"]
    found = [i + 1 for i, number in enumerate(few) if 10 * number <= few[0]]
    return str(found[0]) if found else f"more than {len(few)}"


PAPER = Paper(
    name="prsvm",
    title="PRSVM: parallel randomized support vector machines",
    reference=(
        "The parallel randomized SVM: Figure 1, Table 1 and Figure 2 of its paper. Its methods are "
        "`widestreet.strategies.RSVM` and `PRSVM` with `until_certified=False`; without that they "
        "continue until the solution is certified."
    ),
    problems=problems,
    plan=plan,
    sections=sections,
    facts=facts,
    watch=watch,
    remarks=remarks,
)
