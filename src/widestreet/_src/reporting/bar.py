"""A progress bar for work whose finished part is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(label: str, *, shown: bool) -> Iterator[Callable[[float], None]]:
    """Return a function that is called with the finished part, from 0 to 1.

    Parameters
    ----------
    label : str
        What the work is.
    shown : bool
        If False, nothing is drawn.
    """
    if not shown:
        yield lambda part: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda part: bar.update(task, completed=part)
