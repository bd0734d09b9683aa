"""The search that has chosen the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._src.model_report.drawing import colour_grid
from widestreet._src.model_report.markup import (
    Markup,
    Section,
    details,
    in_digits,
    join,
    number,
    paragraph,
    shortened,
    table,
)

_ROWS = 20  # of the table of candidates, the best first


def section(search: Any) -> Section:
    """Return the section about a fitted search."""
    results = search.cv_results_
    name = "score" if "mean_test_score" in results else str(search.refit)
    mean, spread = results[f"mean_test_{name}"], results[f"std_test_{name}"]
    best = int(np.nanargmax(mean)) if not hasattr(search, "best_index_") else search.best_index_
    parts = [
        paragraph(
            number("search.candidates", len(mean)),
            " candidates were compared by cross-validation. The best mean score is ",
            number("search.best_score", mean[best]),
            f" with {_in_words(results['params'][best])}.",
        )
    ]
    picture = _picture(results, np.asarray(mean, dtype=np.float64), best)
    parts += [] if picture is None else [picture]
    order = np.argsort(-np.nan_to_num(mean, nan=-np.inf), kind="stable")[:_ROWS]
    rows = [
        (
            _in_words(results["params"][k]),
            number(f"search.{k}.mean", mean[k]),
            number(f"search.{k}.std", spread[k]),
        )
        for k in order
    ]
    head = ("Parameters", "Mean score", "Standard deviation")
    parts.append(details(f"The best {len(rows)} candidates", table("Candidates", head, rows)))
    return Section("search", "Search", join(parts))


def _in_words(parameters: dict[str, Any]) -> str:
    """Return the parameters of a candidate as text."""
    return shortened(
        ", ".join(
            f"{name} = {in_digits(value) if isinstance(value, float) else value}"
            for name, value in parameters.items()
        )
    )


def _picture(results: Any, mean: Any, best: int) -> Markup | None:
    """Return the scores over the first two numbers that vary; None if fewer do.

    Where several candidates have the same values of these two, the best one counts.
    """
    varying = {}
    for key in (key for key in results if key.startswith("param_")):
        found = np.ma.filled(np.ma.asarray(results[key]).astype(object), np.nan)
        try:
            values = found.astype(np.float64)
        except (TypeError, ValueError):
            continue
        if len(np.unique(values[np.isfinite(values)])) > 1:
            varying[key.removeprefix("param_")] = values
    if len(varying) < 2:
        return None
    (first, across), (second, up) = list(varying.items())[:2]
    columns, rows = np.unique(across), np.unique(up)
    if not np.isfinite(columns).all() or not np.isfinite(rows).all():
        return None
    grid = np.full((len(rows), len(columns)), np.nan)
    for a, b, score in zip(across, up, mean, strict=True):
        at = int(np.searchsorted(rows, b)), int(np.searchsorted(columns, a))
        grid[at] = np.nanmax([grid[at], score]) if np.isfinite(score) else grid[at]
    if not np.isfinite(grid).any():
        return None
    marked = int(np.searchsorted(rows, up[best])), int(np.searchsorted(columns, across[best]))
    labels = [_rounded(value) for value in columns], [_rounded(value) for value in rows]
    names = first.rpartition("__")[2], second.rpartition("__")[2]
    text = f"Mean score over {names[0]} and {names[1]}; darker is better. The frame is the best."
    return colour_grid("Scores of the search", text, names, labels, grid, marked)


def _rounded(value: float) -> str:
    """Return a number with two digits."""
    return in_digits(float(f"{value:.2g}"))
