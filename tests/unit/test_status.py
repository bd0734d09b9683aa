"""Statuses are strings, and look like them."""

from __future__ import annotations

import json
import pickle

import pytest

from widestreet._src.certificate import Certificate
from widestreet._src.status import Status


@pytest.mark.parametrize("status", Status)
def test_a_status_is_its_string(status):
    assert status == str(status) == f"{status}" == status.value
    assert repr(status) == f"'{status.value}'"
    assert json.loads(json.dumps([status])) == [status.value]
    assert pickle.loads(pickle.dumps(status)) is status
    assert {status: 1}[status.value] == 1


def test_what_was_asked_for_and_what_was_cut_short():
    assert [status for status in Status if status.success] == ["optimal", "approximate"]
    cut = ["time_limit", "iteration_limit", "interrupted"]
    assert [status for status in Status if status.cut_short] == cut


def test_a_certificate_shows_the_plain_string():
    assert "status='optimal'" in repr(Certificate.trivial(3, 1e-3))
