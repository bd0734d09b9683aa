"""The session behind the page of the playground: messages in, states out."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from threading import Lock
from typing import Any

import numpy as np

from widestreet._src import checks
from widestreet._src.arrays import Bytes, Floats
from widestreet._src.certificate import Certificate
from widestreet._src.playground.board import MOST_POINTS, Board, Refit
from widestreet._src.playground.examples import DIGITS, EXAMPLES, HEIGHT, WIDTH, example
from widestreet._src.playground.machines import KERNELS, MACHINES, SLIDERS, TABS

State = dict[str, Any]


class Session:
    """Boards of points, one for each tab. Every method returns the state that the page draws.

    The state consists of plain values that JSON can hold. A session may be used by several threads.

    Parameters
    ----------
    tab : {"classification", "regression", "one-class", "ensemble"}, default="classification"

    Attributes
    ----------
    tab : str
        Name of the present tab.

    Examples
    --------
    >>> session = Session()
    >>> before = len(session.board.points)
    >>> state = session.add(0.1, 0.2, 1)
    >>> len(state["points"]) - before, state["certificate"]["status"]
    (1, 'optimal')
    """

    def __init__(self, tab: str = "classification") -> None:
        self._boards: dict[str, Board] = {}
        self._lock = Lock()
        self._open(tab)

    def _open(self, tab: str) -> None:
        """Show a tab. Sets: tab, boards."""
        self.tab = checks.require_choice("tab", tab, tuple(TABS))
        if tab not in self._boards:
            self._boards[tab] = Board(TABS[tab][0], example(tab, next(iter(EXAMPLES[tab]))))

    @property
    def board(self) -> Board:
        """Board of the present tab."""
        return self._boards[self.tab]

    # -- messages ----------------------------------------------------------------------------------

    def handle(self, message: Any) -> State:
        """Carry out a message of the page.

        Parameters
        ----------
        message : mapping
            {"action": name of a method of this class, and its arguments}.

        Returns
        -------
        dict
            State after the action.

        Raises
        ------
        ValueError
            If the message is malformed or cannot be carried out; the session is unchanged.
        """
        if not isinstance(message, Mapping) or not all(isinstance(name, str) for name in message):
            raise ValueError("a message must be an object with an action")
        given = dict(message)
        action = checks.require_choice("action", given.pop("action", None), tuple(_ACTIONS))
        names = _ACTIONS[action]
        if names is not None and set(given) != set(names):
            wanted = ", ".join(names) or "nothing"
            raise ValueError(f"{action} takes {wanted}, got {', '.join(given) or 'nothing'}")
        with self._lock:
            state: State = getattr(self, action)(**given)
        return state

    # -- actions -----------------------------------------------------------------------------------

    def state(self) -> State:
        """Return the present state."""
        return _state(self.tab, self.board)

    def open(self, tab: str) -> State:
        """Show another tab."""
        self._open(tab)
        return self.state()

    def add(self, x: float, y: float, label: int) -> State:
        """Add a point of a class, 0 or 1."""
        self.board.add(*_place(x, y), checks.require_integer("label", label, least=0, most=1))
        return self.state()

    def forget(self, id: int) -> State:
        """Remove a point."""
        self.board.forget(checks.require_integer("id", id, least=0))
        return self.state()

    def move(self, id: int, x: float, y: float) -> State:
        """Move a point."""
        self.board.move(checks.require_integer("id", id, least=0), *_place(x, y))
        return self.state()

    def set(self, /, **parameters: Any) -> State:
        """Change parameters of the estimator."""
        self.board.set(parameters)
        return self.state()

    def use(self, machine: str) -> State:
        """Train another estimator of this tab on the points."""
        self.board.use(checks.require_choice("machine", machine, TABS[self.tab]))
        return self.state()

    def load(self, name: str) -> State:
        """Replace the points by those of an example."""
        checks.require_choice("name", name, tuple(EXAMPLES[self.tab]))
        self.board.replace(example(self.tab, name))
        return self.state()

    def clear(self) -> State:
        """Remove all points."""
        self.board.replace([])
        return self.state()

    def refit(self) -> State:
        """Fit the batch estimator to the points and compare it with the model."""
        found = self.board.refit()
        return self.state() | {"refit": _refit(found)}


# Arguments of each action; None if they are checked by the action.
_ACTIONS: dict[str, tuple[str, ...] | None] = {
    "state": (),
    "open": ("tab",),
    "add": ("x", "y", "label"),
    "forget": ("id",),
    "move": ("id", "x", "y"),
    "set": None,
    "use": ("machine",),
    "load": ("name",),
    "clear": (),
    "refit": (),
}


def _place(x: Any, y: Any) -> tuple[float, float]:
    """Return coordinates within the plane, rounded as the page shows them."""
    a = checks.require_real("x", x, least=-WIDTH, most=WIDTH)
    b = checks.require_real("y", y, least=-HEIGHT, most=HEIGHT)
    return round(a, DIGITS), round(b, DIGITS)


# -- states ----------------------------------------------------------------------------------------


def _state(tab: str, board: Board) -> State:
    """Return what the page draws."""
    kind, last, motion = board.kind, board.last, board.last.motion
    return {
        "tab": tab,
        "tabs": list(TABS),
        "plane": [WIDTH, HEIGHT],
        "most_points": MOST_POINTS,
        "machine": board.machine,
        "machines": {name: MACHINES[name].title for name in TABS[tab]},
        "kernels": KERNELS,
        "examples": list(EXAMPLES[tab]),
        "targets": kind.targets,
        "kernel": board.parameters["kernel"],
        "sliders": [
            {"name": name, "value": board.parameters[name]} | asdict(SLIDERS[name])
            for name in kind.sliders
        ],
        "points": [[p.id, p.x, p.y, p.label] for p in board.points],
        "left": [[p.id, p.x, p.y, p.label] for p in last.left],
        "frames": {
            "count": len(motion.coef),
            "coef": _packed(motion.coef, "<f4"),
            "support": _packed(motion.support, "u1"),
            "intercept": motion.intercept.tolist(),
            "tube": motion.tube.tolist(),
            "pieces": motion.pieces,
            "on_path": motion.on_path,
        },
        "certificate": _certificate(board.learner.certificate()),
        "counts": board.learner.counts(),
        "seconds": last.seconds,
        "notes": last.notes,
    }


def _packed(values: Floats | Bytes, dtype: str) -> str:
    """Return the values of an array as base64 text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")


def _certificate(found: Certificate | None) -> State | None:
    """Return the figures of a certificate; those that are not finite are None."""
    if found is None:
        return None
    figures = {
        "kkt_violation": found.kkt_violation,
        "rounding": found.rounding,
        "primal_objective": found.primal_objective,
        "dual_objective": found.dual_objective,
        "gap": found.gap,
        "relative_gap": found.relative_gap,
        "tol": found.tol,
    }
    finite = {name: value if isfinite(value) else None for name, value in figures.items()}
    return {"status": str(found.status), "n_rows": found.n_rows, "text": str(found)} | finite


def _refit(found: Refit) -> State:
    return {name: value if isfinite(value) else None for name, value in asdict(found).items()}
