"""Sessions: messages are checked, and states are plain values."""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from conftest import TOL
from widestreet._src.playground.machines import TABS
from widestreet._src.playground.session import Session


def unpacked(state):
    """Coefficients and kinds of all frames."""
    frames, rows = state["frames"], len(state["points"]) + len(state["left"])
    coef = np.frombuffer(base64.b64decode(frames["coef"]), dtype="<f4")
    support = np.frombuffer(base64.b64decode(frames["support"]), dtype=np.uint8)
    return coef.reshape(frames["count"], rows), support.reshape(frames["count"], rows)


@pytest.mark.parametrize("tab", TABS)
def test_states_are_plain_and_complete(tab):
    session = Session()
    state = session.handle({"action": "open", "tab": tab})
    for message in [
        {"action": "add", "x": 0.1, "y": 0.2, "label": 1},
        {"action": "move", "id": state["points"][2][0], "x": -0.5, "y": 0.5},
        {"action": "forget", "id": state["points"][0][0]},
        {"action": "set", "gamma": 3.0},
        {"action": "state"},
        {"action": "refit"},
        {"action": "load", "name": state["examples"][-1]},
        {"action": "use", "machine": list(state["machines"])[-1]},
        {"action": "clear"},
    ]:
        state = session.handle(message)
        assert json.loads(json.dumps(state, allow_nan=False)) == state
        coef, support = unpacked(state)
        assert len(coef) == len(state["frames"]["intercept"]) == len(state["frames"]["tube"])
        model, estimator = coef[-1], session.board.learner.estimator
        if state["certificate"] is not None and len(state["points"]):
            assert np.count_nonzero(support[-1]) >= np.count_nonzero(model) > 0
            expected = np.sort(estimator.dual_coef_[0])
            found = np.sort(model[model != 0])
            np.testing.assert_allclose(found, expected, rtol=TOL.kernel_float32)
        assert ("refit" in state) == (message["action"] == "refit")
    assert state["points"] == []
    assert state["certificate"] is None


def test_certificates_are_those_of_the_estimator():
    session = Session()
    state = session.add(0.0, 0.1, 0)
    found = session.board.learner.estimator.verify()
    assert state["certificate"]["dual_objective"] == found.dual_objective
    assert state["certificate"]["n_rows"] == found.n_rows == len(state["points"])
    assert state["certificate"]["text"] == str(found)


def test_tabs_have_their_own_points():
    session = Session("regression")
    before = session.add(0.0, 0.0, 0)["points"]
    session.open("classification")
    session.clear()
    assert session.open("regression")["points"] == before


def test_coordinates_are_rounded():
    [*_, (_, x, y, label)] = Session().add(0.123456, -0.98765, 1)["points"]
    assert (x, y, label) == (0.1235, -0.9877, 1)


@pytest.mark.parametrize(
    "message",
    [
        None,
        7,
        "add",
        [],
        {},
        {"action": None},
        {"action": "dance"},
        {"action": "__init__"},
        {"action": "handle"},
        {"action": "_open", "tab": "regression"},
        {"action": ["add"]},
        {"action": "add"},
        {"action": "add", "x": 0, "y": 0},
        {"action": "add", "x": 0, "y": 0, "label": 1, "more": 1},
        {"action": "add", "x": "0", "y": 0, "label": 1},
        {"action": "add", "x": None, "y": 0, "label": 1},
        {"action": "add", "x": float("nan"), "y": 0, "label": 1},
        {"action": "add", "x": 10**400, "y": 0, "label": 1},
        {"action": "add", "x": 1.6, "y": 0, "label": 1},
        {"action": "add", "x": 0, "y": -1.1, "label": 1},
        {"action": "add", "x": 0, "y": 0, "label": 2},
        {"action": "add", "x": 0, "y": 0, "label": True},
        {"action": "forget", "id": 10**9},
        {"action": "forget", "id": -1},
        {"action": "forget", "id": "0"},
        {"action": "move", "id": 10**9, "x": 0, "y": 0},
        {"action": "set", "C": -1},
        {"action": "set", "self": 1},
        {"action": "set", "tol": 1},
        {"action": "set", "kernel": "os.system"},
        {"action": "use", "machine": "svr"},
        {"action": "use", "machine": {}},
        {"action": "open", "tab": "cellar"},
        {"action": "load", "name": "noisy sine"},
        {1: 2},
    ],
    ids=str,
)
def test_malformed_messages_change_nothing(message):
    session = Session()
    before = session.state()
    with pytest.raises(ValueError, match=r"must be|takes|no point|no parameter"):
        session.handle(message)
    assert session.state() == before


def test_messages_of_several_threads():
    session = Session()
    before = len(session.board.points)
    messages = [{"action": "add", "x": 0.01 * k, "y": 0.3, "label": k % 2} for k in range(20)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(session.handle, messages))
    state = session.state()
    assert len({point[0] for point in state["points"]}) == before + 20
    assert state["certificate"]["status"] == "optimal"
