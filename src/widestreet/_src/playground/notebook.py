"""The playground in notebooks."""

from __future__ import annotations

from typing import Any


def play(tab: str = "classification") -> Any:
    """Return the playground as a notebook widget.

    Points are added, moved and removed by hand, and the model moves along its exact path. Needs
    anywidget: ``pip install "widestreet[notebook]"``. Outside of notebooks, the command
    ``widestreet play`` opens the same page in a browser.

    Parameters
    ----------
    tab : {"classification", "regression", "one-class", "ensemble"}, default="classification"
        Tab to begin with.

    Returns
    -------
    anywidget.AnyWidget
        Widget with the attribute `estimator`, the fitted estimator of the tab that is shown.

    Examples
    --------
    >>> import widestreet as ws
    >>> widget = ws.play("regression")
    >>> widget.estimator.verify().status
    'optimal'
    """
    from widestreet._src.playground.session import Session

    try:
        from widestreet._src.playground.widget import Playground
    except ModuleNotFoundError as error:
        if error.name not in ("anywidget", "ipywidgets", "traitlets"):
            raise
        raise ImportError(
            "play() needs anywidget, which is not installed: "
            'pip install "widestreet[notebook]"; without a notebook, run `widestreet play`'
        ) from error
    return Playground(Session(tab))
