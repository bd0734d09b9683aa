"""Conversion of fitted SVMs from and to scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from widestreet._src.estimators import parameter_checks
from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.contained import svm_of
from widestreet._src.estimators.locating import classes_of
from widestreet._src.estimators.model import KernelModel
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.one_class import OneClassSVM
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.scoring import check_shapes, dense_coef
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR
from widestreet._src.interchange.assembling import assembled

_OWN = {kind.__name__: kind for kind in (SVC, NuSVC, SVR, NuSVR, OneClassSVM)}
_NOT_TAKEN = ("cache_size", "verbose", "n_jobs")  # these have other defaults or meanings
_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


def from_sklearn(model: Any) -> Any:
    """Return a fitted SVM of scikit-learn as an estimator of this package.

    The result predicts like the model. It can be saved, certified, and trained further:
    ``SVC(...).fit(X, y, start=model)`` begins at its solution.

    Parameters
    ----------
    model : estimator
        Fitted `SVC`, `NuSVC`, `SVR`, `NuSVR` or `OneClassSVM` of scikit-learn, of
        scikit-learn-intelex or of another library with the same names and attributes.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted estimator without `certificate_`; `widestreet.certify` computes it. There is no
        `predict_proba`, and a warning says so if the model has it (probability=True).

    Raises
    ------
    TypeError
        If the model is not one of these classes, or its kernel is a Python function.

    Examples
    --------
    >>> import sklearn.svm
    >>> from widestreet.datasets import twonorm
    >>> from widestreet.io import from_sklearn
    >>> X, y = twonorm(300, random_state=0)
    >>> model = from_sklearn(sklearn.svm.SVC().fit(X, y))
    >>> type(model), bool(model.score(X, y) > 0.95)
    (<class 'widestreet.SVC'>, True)
    """
    converted = _converted(model)
    if getattr(model, "probability", None) is True:
        warnings.warn(
            "probability=True is not taken over: the estimator has no predict_proba; for "
            "probabilities train widestreet.CalibratedSVC, or scikit-learn's "
            "CalibratedClassifierCV",
            UserWarning,
            stacklevel=2,
        )
    return converted


def _converted(model: Any) -> Any:
    """Return a model of scikit-learn as an estimator of this package."""
    name = next((kind.__name__ for kind in type(model).__mro__ if kind.__name__ in _OWN), None)
    if name is None:
        raise TypeError(
            f"model must be a fitted {', '.join(_OWN)} of scikit-learn or a library with the same "
            f"names, got {type(model).__module__}.{type(model).__name__}"
        )
    check_is_fitted(model, "support_")
    if not isinstance(model.kernel, str) or model.kernel not in _KERNELS:
        raise TypeError(
            f"kernel={model.kernel!r}: only models with the kernels {', '.join(_KERNELS)} can be "
            "converted, because others keep all their training rows"
        )
    kind = _OWN[name]
    given = model.get_params(deep=False)
    known = [key for key in kind._get_param_names() if key in given and key not in _NOT_TAKEN]
    own = kind(**{key: given[key] for key in known})
    if isinstance(own, NuSVC):
        own.class_weight = None  # scikit-learn ignores it
    gamma: Any = own.gamma
    if isinstance(gamma, str):
        gamma = getattr(model, "_gamma", None)
        if gamma is None:
            raise TypeError(f"gamma={own.gamma!r}: the model does not state its value")
    check_shapes("model", model)
    classifier = isinstance(own, Classifier)
    coef, order = dense_coef(model.dual_coef_), np.arange(len(model.support_))
    if classifier:
        order = np.argsort(classes_of(coef, np.asarray(model.n_support_)), kind="stable")
    precomputed = own.kernel == "precomputed"
    return assembled(
        own,
        kernel=parameter_checks.resolve_kernel(
            own.kernel, gamma=float(gamma), coef0=own.coef0, degree=own.degree
        ),
        vectors=None if precomputed else model.support_vectors_[order],
        coef=coef[:, order],
        intercept=np.ravel(model.intercept_),
        support=model.support_[order],
        n_support=model.n_support_ if classifier else np.array([len(model.support_)]),
        shape_fit=(int(model.shape_fit_[0]), int(model.shape_fit_[1])),
        classes=model.classes_ if classifier else None,
        class_weight=model.class_weight_ if isinstance(own, SVC) else None,
        names=getattr(model, "feature_names_in_", None),
        steps=getattr(model, "n_iter_", 0),
    )


def as_own(model: Any) -> Any:
    """Return a model of this package as it is, and one of another library converted."""
    model = svm_of(model)
    return model if isinstance(model, KernelModel) else _converted(model)


def to_sklearn(model: Any) -> Any:
    """Return a fitted estimator as a fitted SVM of scikit-learn.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted estimator. The kernel must be one of scikit-learn's.

    Returns
    -------
    sklearn.svm.SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted estimator with the same predictions, up to rounding. Its support vectors are float64.

    Raises
    ------
    TypeError
        If scikit-learn has no such estimator or kernel.

    Examples
    --------
    >>> import widestreet as ws
    >>> from widestreet.datasets import twonorm
    >>> from widestreet.io import to_sklearn
    >>> X, y = twonorm(300, random_state=0)
    >>> to_sklearn(ws.SVC(C=3.0).fit(X, y))
    SVC(C=3.0)
    """
    model = svm_of(model)
    if not isinstance(model, OptimalFit):
        raise TypeError(f"model must be a {', '.join(_OWN)}, got {type(model).__name__}")
    model._check_fitted()
    if not isinstance(model.kernel, str) or model._kernel.name not in _KERNELS:
        raise TypeError(
            f"kernel={model.kernel!r}: scikit-learn has only {', '.join(_KERNELS)} for models that "
            "keep their support vectors alone"
        )
    from sklearn import svm  # here, because it is slow to import

    name = next(kind.__name__ for kind in type(model).__mro__ if kind.__name__ in _OWN)
    other = getattr(svm, name)()
    own = model.get_params(deep=False)
    known = [key for key in own if key in other.get_params() and key not in _NOT_TAKEN]
    _fit_anything(other, model)
    other.set_params(**{key: own[key] for key in known})
    vars(other).update(_attributes(model))
    return other


def _fit_anything(other: Any, model: Any) -> None:
    """Fit a few rows, so that all attributes of this version of scikit-learn exist. Sets: other."""
    classes = getattr(model, "classes_", [0])
    n = 2 * len(classes)
    X: Any = 10.0 * np.arange(n)[:, None]
    if sparse.issparse(model.support_vectors_):
        X = sparse.csr_matrix(X)
    target = np.tile(classes, 2) if isinstance(model, Classifier) else np.arange(float(n))
    other.set_params(gamma=1.0).fit(X, target)


def _attributes(model: Any) -> dict[str, Any]:
    """Return the fitted attributes of a model under the names that scikit-learn uses."""
    vectors, coef = model.support_vectors_, dense_coef(model.dual_coef_)
    if sparse.issparse(vectors):
        vectors = sparse.csr_matrix(vectors, dtype=np.float64)
        vectors.sort_indices()
        ends = np.arange(len(coef) + 1) * coef.shape[1]  # scikit-learn needs all entries
        at = np.tile(np.arange(coef.shape[1]), len(coef))
        coef = sparse.csr_matrix((coef.ravel(), at, ends), shape=coef.shape)
    else:
        vectors = np.ascontiguousarray(vectors, dtype=np.float64)
    intercept = np.array(model.intercept_)
    classifier = isinstance(model, Classifier)
    flipped = classifier and len(model.classes_) == 2  # within scikit-learn, as in LIBSVM
    n_support = model.n_support_ if classifier else np.array([len(model.support_), 0])
    found = {
        "support_": model.support_.astype(np.int32),
        "support_vectors_": vectors,
        "_n_support": n_support.astype(np.int32),
        "dual_coef_": coef,
        "_dual_coef_": -coef if flipped else coef,
        "intercept_": intercept,
        "_intercept_": -intercept if flipped else intercept,
        "_gamma": model._gamma,
        "shape_fit_": tuple(model.shape_fit_),
        "n_features_in_": model.n_features_in_,
        "fit_status_": model.fit_status_,
        "n_iter_": model.n_iter_,
        "_num_iter": np.atleast_1d(model.n_iter_),
    }
    same = ("classes_", "class_weight_", "feature_names_in_", "offset_")
    return found | {name: vars(model)[name] for name in same if name in vars(model)}
