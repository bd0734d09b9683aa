"""Online regressions: targets are numbers, and there is no model without rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from support.online_machines import ONLINE, begun, mixed

every_kind = pytest.mark.parametrize("kind", ["svr", "nu_svr"])


@every_kind
def test_targets_must_be_numbers(kind):
    with pytest.raises(ValueError, match="y"):
        ONLINE[kind](gamma=0.5).partial_fit([[0.0], [1.0]], ["low", "high"])


@every_kind
def test_numbers_as_text_are_numbers(kind):
    X, y = mixed(kind)
    found = begun(kind)
    other = ONLINE[kind](**found.get_params()).partial_fit(X[:30], y[:30].astype(str))
    np.testing.assert_array_equal(found.predict(X), other.predict(X))


@every_kind
def test_there_is_no_model_without_rows(kind):
    X, y = mixed(kind)
    model = begun(kind)
    model.forget(model.ids_)
    assert model.n_rows_ == 0
    with pytest.raises(NotFittedError, match="partial_fit"):
        model.predict(X)
    assert np.isfinite(model.partial_fit(X[:1], y[:1]).predict(X)).all()
