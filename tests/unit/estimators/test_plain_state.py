"""The state of estimators: plain values only, whatever the estimator is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import widestreet as ws
from support.fitted_models import fitted, names, online_names
from widestreet._src.estimators.plain_state import SCHEMA, attributes_of, is_fitted, state_of


def assert_plain(value) -> None:
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            assert_plain(one)
    else:
        plain = (type(None), bool, int, float, str, np.generic, np.ndarray)
        assert isinstance(value, plain) or sparse.issparse(value)


def test_what_a_fit_finds_is_plain():
    for name in names() + online_names():
        state = fitted(name).model.__getstate__()
        assert_plain(state["fitted"])
        assert_plain(state.get("rows"))
        assert state["schema"] == SCHEMA
        assert state["widestreet"] == ws.__version__


def test_a_state_has_all_attributes():
    model = fitted("svc/rbf/dense").model
    found = attributes_of(state_of(model))
    assert found.keys() == vars(model).keys()


def test_an_estimator_that_is_not_fitted_has_parameters_only():
    state = state_of(ws.SVC(C=3.0))
    assert state["fitted"] == {}
    assert state["parameters"]["C"] == 3.0
    assert attributes_of(state) == vars(ws.SVC(C=3.0))


def test_what_scikit_learn_and_users_add_comes_along():
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        model = ws.SVC().set_fit_request(sample_weight=True)
    model.remark = "mine"
    found = attributes_of(state_of(model))
    assert found["remark"] == "mine"
    assert "_metadata_request" in found


def test_names_of_fitted_attributes():
    assert is_fitted("support_")
    assert is_fitted("_kernel")
    assert not any(map(is_fitted, ("C", "predict", "_metadata_request", "__class__", "_")))


def test_a_state_of_a_later_version_names_the_version_to_install():
    state = state_of(ws.SVC()) | {"schema": SCHEMA + 1, "widestreet": "9.1"}
    with pytest.raises(ValueError, match=r"schema 2 by widestreet 9\.1.*install widestreet>=9\.1"):
        object.__new__(ws.SVC).__setstate__(state)


@pytest.mark.parametrize("schema", [None, 0, "1", True])
def test_a_state_without_a_schema_is_refused(schema):
    with pytest.raises(ValueError, match="no version has written"):
        attributes_of(state_of(ws.SVC()) | {"schema": schema})
