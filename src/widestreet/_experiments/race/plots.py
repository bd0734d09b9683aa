"""The plots of the race: the same colour and marker for a solver everywhere, logarithmic axes."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from widestreet._experiments.harness.discovery import solvers
from widestreet._experiments.harness.plots import COLOURS, MARKERS, tidy
from widestreet._experiments.harness.records import Record, answers
from widestreet._experiments.harness.report import Figure
from widestreet._experiments.race.comparison import exponent, fits, growth, lines, of

SMALLEST_GAP = 1e-12  # below this there is only rounding
COLUMNS = 4


def gaps(records: list[Record]) -> list[Figure]:
    """Return the plot of time against gap, if a solver was run at several tolerances."""
    title = "Time against certified relative gap"
    return [Figure("gap", title, partial(_gaps, records))] if _shown(records) else []


def growths(records: list[Record], data: str) -> list[Figure]:
    """Return the plots of time and memory against the rows of a task."""
    time, memory = "time to fit, s", "peak memory of the fit, MB"
    return [
        Figure(
            f"time-{data}",
            f"Time against rows: {data}",
            partial(_growth, records, data, "seconds", time),
        ),
        Figure(
            f"memory-{data}",
            f"Memory against rows: {data}",
            partial(_growth, records, data, "peak_mb", memory),
        ),
    ]


def _label_times(panel: Any) -> None:
    """Set ticks that can be read also where the times span less than a decade."""
    from matplotlib.ticker import LogLocator, NullFormatter

    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_formatter(NullFormatter())


def _style(solver: str) -> dict[str, Any]:
    """Return colour, marker and label of a solver."""
    place = list(solvers()).index(solver)
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],
        "label": solvers()[solver].title,
        "linewidth": 1.6,
        "markersize": 4.5,
    }


def _racers(records: list[Record]) -> list[str]:
    """Return the solvers with answers, without the null solver."""
    there = {r["method"]["name"] for r in answers(fits(records))}
    return [name for name, solver in solvers().items() if name in there and solver.uses_tol]


def _shown(records: list[Record]) -> list[tuple[str, int]]:
    """Return the tasks on which a solver was run at several tolerances."""
    return [
        (data, rows)
        for data, rows in lines(records)
        if any(len(answers(of(records, data, rows, s))) > 1 for s in _racers(records))
    ]


def _gaps(records: list[Record]) -> Any:
    """Draw one panel per task: left and below is better."""
    from matplotlib.figure import Figure as Canvas

    shown = _shown(records)
    columns = min(COLUMNS, len(shown))
    height = math.ceil(len(shown) / columns)
    figure = Canvas(figsize=(3.2 * columns + 0.4, 2.6 * height + 0.7), layout="constrained")
    panels = figure.subplots(height, columns, squeeze=False)
    handles: dict[str, Any] = {}
    for panel, (data, rows) in zip(panels.flat, shown, strict=False):
        for name in _racers(records):
            runs = answers(of(records, data, rows, name))
            if runs:
                times = [r["seconds"] for r in runs]
                gaps = [max(r["relative_gap"], SMALLEST_GAP) for r in runs]
                handles[name] = panel.loglog(times, gaps, **_style(name))[0]
        _label_times(panel)
        panel.set_title(f"{data}, {rows:,} rows", fontsize=10)
        tidy(panel)
    for panel in panels.flat[len(shown) :]:
        panel.axis("off")
    figure.supxlabel("time to fit, s", fontsize=10)
    figure.supylabel("certified relative gap", fontsize=10)
    names = [name for name in solvers() if name in handles]
    figure.legend(
        [handles[name] for name in names],
        [solvers()[name].title for name in names],
        loc="outside upper center",
        ncols=min(2 * columns, len(names)),
        frameon=False,
        fontsize=10,
    )
    return figure


def _growth(records: list[Record], data: str, what: str, label: str) -> Any:
    """Draw the runs that count by rows; for times, with the fitted exponents."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(6.4, 4.4), layout="constrained")
    panel = figure.subplots()
    for name in _racers(records):
        points = growth(records, data, name, what)
        points = [(n, max(value, 0.1 if what == "peak_mb" else 1e-6)) for n, value in points]
        if not points:
            continue
        style = _style(name)
        slope = exponent(points) if what == "seconds" else None
        if slope is not None:
            style["label"] += f": $n^{{{slope:.2f}}}$"
        panel.loglog(*zip(*points, strict=True), **style)
    panel.set_xlabel(f"rows of {data}")
    panel.set_ylabel(label)
    panel.legend(frameon=False, fontsize=9)
    tidy(panel)
    return figure
