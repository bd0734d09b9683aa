"""Train an SVM with an RBF kernel on a million rows of a checkerboard.

Prints the certificate and the test accuracy. If matplotlib is installed, also draws the decision
boundary and the margin.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.console import Console
    from rich.table import Table

    from widestreet import SVC

SUMMARY = "train on a million rows and print the certificate"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The subcommand's parser.
    """
    parser.add_argument(
        "--rows",
        type=_positive,
        default=1_000_000,
        metavar="N",
        help="number of training rows (%(default)s)",
    )
    parser.add_argument(
        "--test-rows",
        type=_positive,
        default=100_000,
        metavar="N",
        help="number of test rows (%(default)s)",
    )
    parser.add_argument(
        "--out",
        type=_writable,
        default=Path("widestreet-demo.png"),
        metavar="FILE",
        help="file of the plot (%(default)s)",
    )
    parser.add_argument(
        "--tol",
        type=float,
        default=1e-3,
        metavar="TOL",
        help="largest violation allowed (%(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Train, print the results and draw the plot.

    Parameters
    ----------
    options : argparse.Namespace
        Values of the arguments that `configure` declared.

    Returns
    -------
    int
        0 if the model is certified optimal, else 1.
    """
    import numpy as np
    from rich.console import Console

    from widestreet import SVC
    from widestreet.datasets import checkerboard

    console = Console(highlight=False)
    console.print(f"A checkerboard of {options.rows:,} rows, RBF kernel, gamma = 2, C = 100.")
    X, y = checkerboard(options.rows, random_state=0, dtype=np.float32)
    X_test, y_test = checkerboard(options.test_rows, random_state=1, dtype=np.float32)

    started = time.perf_counter()
    model = SVC(kernel="rbf", gamma=2.0, C=100.0, tol=options.tol, verbose=1, random_state=0)
    model.fit(X, y)
    fitted = time.perf_counter()
    accuracy = model.score(X_test, y_test)
    scored = time.perf_counter()

    console.print(_certificate(model))
    console.print(_model(model, accuracy, fitted - started, scored - fitted))
    console.print()
    _draw(model, X, y, options.out, console)
    return 0 if model.certificate_.status == "optimal" else 1


def _certificate(model: SVC) -> Table:
    """Return a table of the certificate."""
    c = model.certificate_
    table = _table("Certificate", f"computed over all {c.n_rows:,} rows")
    table.add_row("status", c.status, style="bold green" if c.status == "optimal" else "bold red")
    table.add_row("duality gap", f"{c.gap:.3e}")
    table.add_row("relative gap", f"{c.relative_gap:.3e}")
    table.add_row("KKT violation", f"{c.kkt_violation:.3e} (tol {c.tol:g})")
    table.add_row("primal objective", f"{c.primal_objective:.9g}")
    table.add_row("dual objective", f"{c.dual_objective:.9g}")
    return table


def _model(model: SVC, accuracy: float, fit_seconds: float, score_seconds: float) -> Table:
    """Return a table of the model and the times."""
    whole = float(model.certificate_.n_rows) ** 2
    table = _table("Model")
    table.add_row("support vectors", f"{len(model.support_):,}")
    table.add_row("test accuracy", f"{100 * accuracy:.2f}%")
    table.add_row("training time", f"{fit_seconds:.1f} s")
    table.add_row("test time", f"{score_seconds:.1f} s")
    computed = model.n_kernel_values_
    table.add_row("kernel values", f"{computed:.2e}, {100 * computed / whole:.2g}% of the matrix")
    return table


def _table(title: str, caption: str | None = None) -> Table:
    """Return an empty table of names and values."""
    from rich.table import Table

    table = Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        caption=caption,
        caption_justify="left",
        box=None,
        show_header=False,
    )
    table.add_column(style="cyan", min_width=18)
    table.add_column(justify="right", min_width=28)
    return table


def _draw(
    model: SVC,
    X: npt.NDArray[np.floating],
    y: npt.NDArray[np.int64],
    out: Path,
    console: Console,
) -> None:
    """Write the plot, or print which package is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        # markup off: the brackets are pip's
        console.print('To draw the decision boundary: pip install "widestreet[plot]"', markup=False)
        return
    from widestreet.plots import plot_street

    figure = Figure(figsize=(7, 7), layout="constrained")
    plot_street(model, X, y, figure.subplots())
    figure.savefig(out, dpi=150)
    console.print(f"The decision boundary is drawn in {out}.", markup=False, soft_wrap=True)


def _positive(text: str) -> int:
    """Return a positive integer from text such as 1000000, 1_000_000 or 1e6."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1 <= number < 2**53 or number != int(number):
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {text!r}")
    return int(number)


def _writable(text: str) -> Path:
    """Return the path of a file after checking that its directory exists."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no directory {str(path.parent)!r}")
    return path
