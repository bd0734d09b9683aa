"""The nodes of a model: coefficients of pairs, and operators of the standard domain only."""

from __future__ import annotations

import numpy as np
import pytest

from support.fitted_models import fitted, names
from widestreet._src.interchange.onnx_graph import check_exportable
from widestreet.online import OnlineSVC


def test_all_models_but_those_of_one_class_can_be_written():
    for name in names():
        check_exportable(fitted(name).model)
    one = OnlineSVC(gamma=1.0).partial_fit(np.eye(3), [1, 1, 1])
    with pytest.raises(ValueError, match="rows of one class"):
        check_exportable(one)
