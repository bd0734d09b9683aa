"""Checks of the state of an estimator that was read from a file.

Native code trusts the shapes of arrays, and a file may have been changed by anybody. After these
checks a model can be used without an error. They do not tell whether it is the right model:
`widestreet.certify` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.model import KernelModel
from widestreet._src.estimators.outlier_detector import OutlierDetector
from widestreet._src.estimators.plain_state import is_fitted, kernel_from
from widestreet._src.kernels.kernels import Callable, Precomputed
from widestreet._src.problems.class_pairs import PairLayout

_MOST_FEATURES = 2**31  # columns; the core counts them in 32 bits


def check_fitted(kind: type[Any], fitted: Mapping[str, Any]) -> None:
    """Raise ValueError if fitted attributes are not those of a model that can predict.

    Parameters
    ----------
    kind : type
        Class of the estimator.
    fitted : mapping
        Fitted attributes in plain values.
    """
    _require(all(map(is_fitted, fitted)), "a name that no fitted attribute has")
    if not issubclass(kind, KernelModel):
        kind._check_state(fitted)  # an estimator that contains another one
        return
    _require(fitted["_kernel"].get("name") != Callable.name, "a kernel that is a function")
    if "certificates_" in fitted:
        _check_certificates(fitted["certificates_"])
    size, columns = len(fitted["support_"]), _whole(fitted["n_features_in_"], most=_MOST_FEATURES)
    classes = len(fitted["n_support_"])
    # a compact linear model consists of its weights, which are no rows
    _numbers(fitted, "support_", (size,), "i", least=-1 if "compaction_" in fitted else 0)
    _numbers(fitted, "n_support_", (classes,), "i", least=0)
    _require(int(fitted["n_support_"].sum()) == size, "n_support_ that do not sum to the vectors")
    layout = PairLayout(classes)
    shape = [_whole(n) for n in fitted["shape_fit_"]]
    _require(shape[1:] == [columns], "shape_fit_ that does not fit n_features_in_")
    _matrix("dual_coef_", fitted["dual_coef_"], (layout.lines, size), (np.float64,))
    if isinstance(kernel_from(fitted["_kernel"]), Precomputed):
        _matrix("support_vectors_", fitted["support_vectors_"], (0, 0), (np.float64,))
        _require(bool((fitted["support_"] < columns).all()), "support_ beyond the kernel matrix")
    else:
        dtypes = (np.float32, np.float64)
        _matrix("support_vectors_", fitted["support_vectors_"], (size, columns), dtypes)
    if fitted["_centre"] is not None:
        _numbers(fitted, "_centre", (columns,), "f")
    if "feature_names_in_" in fitted:
        _require(fitted["feature_names_in_"].shape == (columns,), "names of other columns")
    _require(isinstance(fitted["_scale"], float), "a _scale that is no number")
    pairs = max(1, len(layout.pairs)) if not issubclass(kind, Classifier) else len(layout.pairs)
    _numbers(fitted, "intercept_", (pairs,), "f")
    if issubclass(kind, Classifier):
        _numbers(fitted, "_rho", (pairs,), "f")
        _numbers(fitted, "class_weight_", (classes,), "f")
        _require(fitted["classes_"].shape == (classes,), "other classes_ than n_support_")
        _require(len(np.unique(fitted["classes_"])) == classes, "two equal classes_")
    else:
        _require(classes == 1, "more than one problem")
    if issubclass(kind, OutlierDetector):
        _numbers(fitted, "offset_", (1,), "f")
    if fitted.get("_stages") is not None:
        _check_stages(fitted["_stages"], columns, len(layout.pairs))


def _check_certificates(certificates: list[Mapping[str, Any]]) -> None:
    """Raise ValueError unless all figures of certificates are numbers."""
    _require(len(certificates) > 0, "no certificate")
    words = {"status", "estimate"}
    for one in certificates:
        figures = [value for name, value in one.items() if name not in words]
        real = all(value is None or isinstance(value, int | float) for value in figures)
        _require(real, "a figure of a certificate that is no number")


def _check_stages(stages: Mapping[str, Any], columns: int, pairs: int) -> None:
    """Raise ValueError if the stages of an ensemble are inconsistent."""
    vectors, column, rows, coefs = (stages[key] for key in ("vectors", "column", "rows", "coefs"))
    _numbers(stages, "column", (len(column),), "i", least=0)
    _require(bool((column < max(columns, 2**31)).all()), "rows of stages that do not exist")
    if vectors.shape != (0, 0):  # of a precomputed kernel
        _matrix("stages", vectors, (len(column), columns), (np.float32, np.float64))
    else:
        _require(bool((column < columns).all()), "rows of stages beyond the kernel matrix")
    _require(len(rows) == len(coefs) == pairs, "stages of other pairs of classes")
    for index, coef in zip(rows, coefs, strict=True):
        _numbers({"rows": index}, "rows", (len(index),), "i", least=0)
        _require(bool((index < len(column)).all()), "rows of stages that do not exist")
        _matrix("stages", coef, (len(coef), len(index)), (np.float64,))
        _require(len(coef) > 0, "an ensemble without stages")


def check_rows(rows: Mapping[str, Any], fitted: Mapping[str, Any]) -> None:
    """Raise ValueError if the rows of an online estimator are inconsistent."""
    X, n, columns = rows["X"], len(rows["ids"]), fitted["n_features_in_"]
    _matrix("X", X, (n, columns), (np.float32, np.float64))
    _numbers(rows, "target", (n,), "f")
    _numbers(rows, "weight", (n,), "f", least=0)
    _numbers(rows, "ids", (n,), "i", least=0)
    arrived = _whole(rows["arrived"])
    _require(bool((rows["ids"] < arrived).all()), "ids of rows that have not arrived")
    _require(len(np.unique(rows["ids"])) == n, "two rows of one id")
    if rows["centre"] is not None:
        _numbers(rows, "centre", (columns,), "f")
    classes = rows["classes"]
    if classes is not None:
        _require(np.array_equal(classes, fitted["classes_"]), "rows of other classes")
        _require(np.array_equal(classes, np.unique(classes)), "classes in a wrong order")
        code = rows["target"]
        inside = (code == np.floor(code)) & (code >= 0) & (code < len(classes))
        _require(bool(inside.all()), "rows of a class that is not there")
    _require(rows["seen"].get("n_features_in_") == columns, "rows of other columns")
    for one in rows["problems"]:
        _check_problem(one, rows, n)


def _check_problem(one: Mapping[str, Any], rows: Mapping[str, Any], n: int) -> None:
    """Raise ValueError unless a problem has the rows of its pair of classes."""
    members, key = np.arange(n), one["key"]
    if key is not None or rows["classes"] is not None:
        first, second = key
        _require(first < second, "a pair of classes in a wrong order")
        members = np.flatnonzero(np.isin(rows["target"], key))
    _require(bool(rows["weight"][members].any()), "a problem without rows")
    _numbers(one, "members", (len(members),), "i")
    _require(np.array_equal(np.sort(one["members"]), members), "rows of another problem")
    _matrix("beta", one["beta"], (len(one["beta"]), len(members)), (np.float64,))


def _require(sound: bool, what: str) -> None:
    if not sound:
        raise ValueError(what)


def _whole(value: Any, most: int = 2**62) -> int:
    """Return a count, or raise ValueError."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < most:
        raise ValueError(f"{value!r} in the place of a count")
    return value


def _numbers(
    given: Mapping[str, Any], name: str, shape: tuple[int, ...], kind: str, least: float = -np.inf
) -> None:
    """Raise ValueError unless an array has this shape, kind of type and range."""
    value = given[name]
    sound = isinstance(value, np.ndarray) and value.shape == shape and value.dtype.isnative
    sound = sound and value.dtype.kind == kind and value.dtype.itemsize in (4, 8)
    sound = sound and (kind != "f" or value.dtype == np.float64)
    sound = sound and bool(np.isfinite(value).all() and (value >= least).all())
    _require(sound, f"{name} of a wrong shape, type or value")


def _matrix(name: str, value: Any, shape: tuple[int, int], dtypes: tuple[Any, ...]) -> None:
    """Raise ValueError unless a dense or CSR matrix has this shape, type and finite values."""
    sound = (isinstance(value, np.ndarray) or sparse.issparse(value)) and value.shape == shape
    sound = sound and value.dtype.isnative and any(value.dtype == one for one in dtypes)
    data = value.data if sparse.issparse(value) else value
    _require(sound and bool(np.isfinite(data).all()), f"{name} of a wrong shape, type or value")
