"""Strategies whose samples are so small that sampling is all they do."""

from __future__ import annotations

from typing import Any

import pytest

from widestreet.strategies import ISVM, PRSVM, RSVM, RandSVM

SMALL: dict[str, Any] = {  # so small that sampling is all they do
    "isvm, small": ISVM(sample_size=5, stage_one_size=8),
    "isvm, blocks": ISVM(block=7),
    "randsvm, small": RandSVM(sample_size=8),
    "rsvm, small": RSVM(sample_size=12),
    "prsvm, small": PRSVM(sites=3, sample_size=12),
}

every_small_one = pytest.mark.parametrize("strategy", SMALL.values(), ids=SMALL)
