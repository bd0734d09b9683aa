"""The memory of the process."""

from __future__ import annotations

import numpy as np
import pytest

from widestreet._experiments.harness import memory


@pytest.mark.skipif(not memory._CLEAR.exists(), reason="needs Linux")
def test_memory_is_that_since_the_beginning():
    before = memory.begin()
    block = np.ones(8_000_000)
    del block
    assert 50 < memory.peak() - before < 100
