"""Every strategy of ours on the same data, all to the same certificate: what each is good for."""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

from .discovery import solvers, tasks
from .machine import describe
from .plan import Leg
from .records import Record, Store
from .runner import Runner, Watcher
from .tables import digits, markdown, outcome

DATA = (
    "checkerboard",
    "twonorm",
    "covtype-4",
    "kdd99",
    "ijcnn1",
    "a9a",
    "friedman",
    "casp_protein",
)
LIMIT = 90.0  # seconds for a fit
BEGIN, END = "<!-- measured -->", "<!-- end of what is measured -->"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", action="append", metavar="NAME", help="only this data set; may be repeated")
    add("--limit", type=float, default=LIMIT, metavar="SECONDS", help="for one fit")
    add("--threads", type=int, default=2, metavar="N")
    add("--out", type=Path, metavar="DIR", help="keep the records there, and use those that are")
    add("--page", type=Path, metavar="FILE", help="write the tables there, between the marks")


def ours() -> list[str]:
    """All our strategies, the default first."""
    return [name for name, solver in solvers().items() if solver.package == "widestreet"]


def main(options: argparse.Namespace, watch: Watcher) -> int:
    """Measure, print the tables and put them into a page."""
    chosen = options.data or [name for name in DATA if tasks()[name].missing() is None]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(options.out or Path(folder))
        runner = Runner(store, options.threads, watch=watch)
        legs = [Leg(name, 0, (1e-3,), options.limit, insist=False) for name in chosen]
        runner.run(legs, ours())
        records = [r for r in store.all() if r["data"] in chosen]
    text = report(records, chosen, options.threads)
    print(text)
    if options.page:
        page = placed(options.page.read_text(encoding="utf-8"), text)
        options.page.write_text(page, encoding="utf-8")
    return 0


def placed(page: str, text: str) -> str:
    """A page with a text between its marks."""
    marks = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    if not marks.search(page):
        raise ValueError(f"the page has no marks {BEGIN!r} and {END!r}")
    return marks.sub(lambda _: f"{BEGIN}\n{text}\n{END}", page)


def report(records: list[Record], names: list[str], threads: int) -> str:
    """Times, and kernel values with rounds, of every strategy on every data set."""
    where = describe(threads)
    found = {(r["data"], r["solver"]): r for r in records}
    kept = [name for name in names if (name, "widestreet") in found]
    head = ["data", "rows", "SVs", *(_strategy(name) for name in ours())]
    times, work = [], []
    for data in kept:
        best = found[data, "widestreet"]
        about = [data, f"{best['rows']:,}", f"{best['n_sv']:,}"]
        runs = [found.get((data, name)) for name in ours()]
        times.append([*about, *(_time(run, best) for run in runs)])
        work.append([*about, *(_work(run) for run in runs)])
    parts = [
        f"Made by `python -m benchmarks strategies` on {where['date']}: {where['processor']}, "
        f"{threads} threads, tol 1e-3, medians of up to three fits, certificate included.",
        "Seconds, and in brackets how many times those of `auto`:",
        markdown(head, times),
        "Kernel values computed, in millions, and in brackets the rounds:",
        markdown(head, work),
    ]
    return "\n\n".join(parts)


def _strategy(solver: str) -> str:
    name = solvers()[solver].title
    return f"`{name.removeprefix('widestreet').strip(' ()') or 'auto'}`"


def _time(run: Record | None, best: Record) -> str:
    if run is None or run["status"] != "answer":
        return "" if run is None else outcome(run)
    status = run["remarks"]["status"]
    said = "" if status == "optimal" else f", {status}"
    return f"{digits(run['seconds'])} ({run['seconds'] / best['seconds']:.1f}{said})"


def _work(run: Record | None) -> str:
    if run is None or run["status"] != "answer":
        return ""
    return f"{digits(run['remarks']['kernel_values'] / 1e6)} ({run['remarks']['rounds']:,})"
