"""Draw the picture of the README, for light and for dark pages: python tools/draw_margin.py.

On the left is the margin of a fit with its support vectors, on the right what its certificate
proves: the violation and the duality gap of each round, and the proved ones at the end.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

import widestreet as ws

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "_static"
ROWS, SHOWN, CIRCLES = 50_000, 900, 90
THEMES = {
    "light": {"ink": "#1f2937", "faint": "#dbe4f5", "a": "#2456c9", "b": "#c2620b"},
    "dark": {"ink": "#d6dde8", "faint": "#24344f", "a": "#8ab4ff", "b": "#ffb347"},
}


def draw_margin(ax: Any, model: ws.SVC, X: np.ndarray, y: np.ndarray, colours: Any) -> None:
    """Draw the decision boundary, the margin, some rows and the support vectors among them."""
    x0, x1 = np.linspace(-1.6, 2.6, 220), np.linspace(-1.25, 1.75, 160)
    grid = np.stack(np.meshgrid(x0, x1), axis=-1).reshape(-1, 2)
    decision = model.decision_function(grid).reshape(len(x1), len(x0))
    ax.contourf(x0, x1, decision, levels=[-1, 1], colors=[colours["faint"]])
    styles = {"linestyles": ["dashed", "solid", "dashed"], "linewidths": [0.8, 1.6, 0.8]}
    ax.contour(x0, x1, decision, levels=[-1, 0, 1], colors=colours["ink"], **styles)
    for label, colour in enumerate((colours["a"], colours["b"])):
        shown = X[:SHOWN][y[:SHOWN] == label]
        ax.scatter(shown[:, 0], shown[:, 1], s=7, color=colour, linewidths=0)
    step = -(-len(model.support_) // CIRCLES)
    a, b = model.support_vectors_[::step].T
    ax.scatter(a, b, s=26, facecolors="none", edgecolors=colours["ink"], linewidths=0.7)
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=x0[[0, -1]], ylim=x1[[0, -1]])
    ax.set_title(f"{len(model.support_):,} of {ROWS:,} rows are support vectors", fontsize=11)


def draw_certificate(ax: Any, model: ws.SVC, colours: Any) -> None:
    """Draw violation and gap of each round, and those of the certificate."""
    proved = model.certificate_
    trace = model.trace_.to_frame()
    rounds = np.arange(1, len(trace) + 1)
    last = rounds[-1] + 1
    for name, values, end, colour in (
        ("violation", trace["violation"], proved.kkt_violation, colours["b"]),
        ("relative gap", trace["gap"] / proved.primal_objective, proved.relative_gap, colours["a"]),
    ):
        shown = values > 0  # the last rounds may find no violation at all
        ax.semilogy(rounds[shown], values[shown], color=colour, linewidth=1.6, label=name)
        ax.semilogy(last, end, "o", color=colour, markersize=8)
    ax.axhline(proved.tol, color=colours["ink"], linestyle=":", linewidth=1)
    ax.annotate(f"tol = {proved.tol:g}", (1, proved.tol), (0, 4), textcoords="offset points")
    ax.set_xticks([*rounds[::2], last], [*map(str, rounds[::2]), "proof"])
    ax.set(xlabel="round of training")
    ax.legend(frameon=False, loc="upper right", labelcolor=colours["ink"])
    text = (
        f"{proved.status}: {proved.n_rows:,} rows examined\n"
        f"violation {proved.kkt_violation:.1e}, relative gap {proved.relative_gap:.1e}"
    )
    ax.set_title(text, fontsize=11, color=colours["ink"])
    ax.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Train once and write both pictures."""
    X, y = make_moons(ROWS, noise=0.16, random_state=0)
    model = ws.SVC(C=1.0, gamma=0.5, random_state=0, n_jobs=1).fit(X, y)
    for theme, colours in THEMES.items():
        ink = colours["ink"]
        style: dict[Any, Any] = {
            "font.size": 10,
            "svg.hashsalt": "widestreet",
            **dict.fromkeys(
                ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
                ink,
            ),
        }
        with mpl.rc_context(style):
            figure = Figure(figsize=(9.6, 3.9), layout="constrained")
            left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
            draw_margin(left, model, X, y, colours)
            draw_certificate(right, model, colours)
            path = FOLDER / f"margin-{theme}.svg"
            figure.savefig(path, transparent=True, metadata={"Date": None})
            print(path)


if __name__ == "__main__":
    main()
