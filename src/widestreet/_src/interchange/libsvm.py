"""Conversion of fitted SVMs from and to the text models of LIBSVM."""

from __future__ import annotations

import os
import warnings
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src import checks
from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.contained import FOREIGN, require_exportable, svm_of
from widestreet._src.estimators.nu_svc import NuSVC
from widestreet._src.estimators.nu_svr import NuSVR
from widestreet._src.estimators.one_class import OneClassSVM
from widestreet._src.estimators.optimal import OptimalFit
from widestreet._src.estimators.plain_state import kernel_from, plain_kernel
from widestreet._src.estimators.scoring import dense_coef
from widestreet._src.estimators.svc import SVC
from widestreet._src.estimators.svr import SVR
from widestreet._src.interchange.assembling import assembled
from widestreet._src.persistence import libsvm_text
from widestreet._src.persistence.archive import ArchiveError
from widestreet._src.persistence.libsvm_text import LibsvmModel
from widestreet._src.problems.class_pairs import PairLayout

_TYPES: dict[str, type[Any]] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
_KERNELS = {"poly": "polynomial"} | {name: name for name in ("linear", "rbf", "sigmoid")}
_KERNELS |= {"precomputed": "precomputed"}


def to_libsvm(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator as a text model of LIBSVM.

    ``svm-predict`` of LIBSVM and all programs that read its models predict the same labels and
    values. Numbers are written with all their digits.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted estimator. Labels must be integers of 32 bits, and the kernel one of LIBSVM's.
    path : str or path-like

    Raises
    ------
    TypeError, ValueError
        If LIBSVM has no such estimator, kernel or labels.

    Notes
    -----
    The format has no room for C, nu, epsilon, weights and names of columns. A row of a one-class
    SVM whose decision value is exactly zero is an outlier for LIBSVM, and not here. If several
    classes have the most votes, the first one wins; LIBSVM orders classes by their first rows in
    the models that it writes, and here they are sorted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import widestreet as ws
    >>> from widestreet.datasets import twonorm
    >>> X, y = twonorm(100, random_state=0)
    >>> path = Path(tempfile.mkdtemp()) / "twonorm.model"
    >>> ws.io.to_libsvm(ws.SVC(gamma=0.05).fit(X, y), path)
    >>> path.read_text().splitlines()[:4]
    ['svm_type c_svc', 'kernel_type rbf', 'gamma 0.05', 'nr_class 2']
    """
    model = svm_of(model)
    require_exportable(model)
    if not isinstance(model, OptimalFit):
        names = ", ".join(kind.__name__ for kind in _TYPES.values())
        raise TypeError(f"model must be a {names}, got {type(model).__name__}{FOREIGN}")
    model._check_fitted()
    kernel = model._kernel
    if kernel.name not in _KERNELS:
        raise TypeError(f"kernel={model.kernel!r}: LIBSVM has only {', '.join(_KERNELS)}")
    classifier = isinstance(model, Classifier)
    flipped = classifier and len(model.classes_) == 2  # the first class is positive in LIBSVM
    coef, intercept = dense_coef(model.dual_coef_), np.asarray(model.intercept_)
    libsvm_text.write(
        path,
        LibsvmModel(
            svm_type=next(name for name, kind in _TYPES.items() if isinstance(model, kind)),
            kernel_type=_KERNELS[kernel.name],
            coef=-coef if flipped else coef,
            rho=intercept if flipped else -intercept,
            vectors=_all_values(model.support_vectors_),
            serial=model.support_.astype(np.int64) + 1,
            labels=_labels(model.classes_) if classifier else np.zeros(0, dtype=np.int64),
            n_support=model.n_support_.astype(np.int64),
            degree=getattr(kernel, "degree", 3),
            gamma=float(getattr(kernel, "gamma", 0.0)),
            coef0=float(getattr(kernel, "coef0", 0.0)),
        ),
    )


def _all_values(vectors: Any) -> Any:
    """Return vectors as a CSR matrix: all values of an array, the nonzeros of a sparse matrix."""
    if sparse.issparse(vectors):
        vectors = sparse.csr_matrix(vectors, dtype=np.float64, copy=True)
        vectors.sum_duplicates()
        vectors.eliminate_zeros()
        return vectors
    n, d = vectors.shape
    data = np.asarray(vectors, dtype=np.float64).ravel()
    return sparse.csr_matrix((data, np.tile(np.arange(d), n), d * np.arange(n + 1)), shape=(n, d))


def _labels(classes: Any) -> Ints:
    """Return labels as integers, or raise ValueError."""
    values = np.asarray(classes)
    whole = values.dtype.kind in "iufb" and np.array_equal(values, np.floor(values))
    if not whole or (np.abs(values.astype(np.float64)) >= 2**31).any():
        raise ValueError(
            f"classes_: labels of LIBSVM are integers, got {values.tolist()[:3]}: train with "
            "sklearn.preprocessing.LabelEncoder().fit_transform(y)"
        )
    return values.astype(np.int64)


def from_libsvm(
    path: str | os.PathLike[str],
    *,
    C: float = 1.0,
    nu: float = 0.5,
    epsilon: float = 0.1,
    n_features: int | None = None,
    n_samples: int | None = None,
) -> Any:
    """Read a text model of LIBSVM as a fitted estimator.

    Parameters
    ----------
    path : str or path-like
        File written by ``svm-train`` of LIBSVM, by `to_libsvm`, or by another library.
    C, nu, epsilon : float
        Parameters of the fit, which the file does not contain. Predictions do not need them,
        `widestreet.certify` does.
    n_features : int, default=None
        Number of columns; by default the largest index in the file.
    n_samples : int, default=None
        Number of training rows, for a precomputed kernel. The file does not say it; by default it
        is the largest number of a support vector, with a warning.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted estimator without `certificate_`. Its support vectors are an array if the file has
        every value of every vector, as `to_libsvm` writes those of an array, else a CSR matrix.
        `support_` holds the numbers 0, 1, ..., because the file does not say which rows these were.

    Raises
    ------
    ArchiveError
        If the file is not a complete model. It is a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import widestreet as ws
    >>> from widestreet.datasets import twonorm
    >>> X, y = twonorm(300, random_state=0)
    >>> path = Path(tempfile.mkdtemp()) / "twonorm.model"
    >>> ws.io.to_libsvm(ws.SVC(C=2.0).fit(X, y), path)
    >>> ws.certify(ws.io.from_libsvm(path, C=2.0), X, y).status
    'optimal'
    """
    found = libsvm_text.read(path)
    kind = _TYPES[found.svm_type]
    given: dict[str, Any] = {"C": C, "nu": nu, "epsilon": epsilon}
    own = {name: given[name] for name in given if name in kind._get_param_names()}
    name = next(own for own, theirs in _KERNELS.items() if theirs == found.kernel_type)
    try:
        kernel = kernel_from(
            {"name": name, "gamma": found.gamma, "coef0": found.coef0, "degree": found.degree}
        )
    except ValueError as error:
        raise ArchiveError(f"{os.fspath(path)} is not a model of LIBSVM: {error}") from None
    own |= {key: value for key, value in plain_kernel(kernel).items() if key != "name"}
    model = kind(kernel=name, **own)
    classes = None
    coef, rho, n_support = found.coef, found.rho, np.array([found.coef.shape[1]])
    order = np.arange(found.coef.shape[1])
    if isinstance(model, Classifier):
        coef, rho, order = _sorted_by_label(found)
        at = np.argsort(found.labels)
        classes, n_support = found.labels[at], found.n_support[at]
    precomputed, support = name == "precomputed", np.arange(len(order))
    width = _width(found, n_features, n_samples)
    vectors = None
    if precomputed:
        support = found.serial[order] - 1
    else:
        vectors = found.vectors[order]
        vectors.resize((len(order), width))
        if vectors.nnz == len(order) * width:
            vectors = vectors.toarray()
    return assembled(
        model,
        kernel=kernel,
        vectors=vectors,
        coef=coef,
        intercept=-rho,
        support=support,
        n_support=n_support,
        shape_fit=(width if precomputed else len(order), width),
        classes=classes,
    )


def _width(found: LibsvmModel, n_features: int | None, n_samples: int | None) -> int:
    """Return the number of columns of rows, or of a kernel matrix."""
    if found.kernel_type != "precomputed":
        smallest = found.vectors.shape[1]
        if n_features is None:
            return int(smallest)
        return checks.require_integer("n_features", n_features, least=smallest)
    smallest = int(found.serial.max(initial=1))
    if n_features is not None and n_samples is None:
        raise ValueError(
            "n_features: the model has a precomputed kernel, and its columns are training rows: "
            "pass n_samples"
        )
    if n_samples is None:
        warnings.warn(
            f"the file does not say on how many rows the model was trained: {smallest} are "
            "assumed, as many columns as kernel matrices must have; pass n_samples",
            UserWarning,
            stacklevel=3,
        )
        return smallest
    return checks.require_integer("n_samples", n_samples, least=smallest)


def _sorted_by_label(found: LibsvmModel) -> tuple[Floats, Floats, Ints]:
    """Return coefficients, rho and order of the vectors for classes in the order of their labels.

    LIBSVM has its classes in the order of their first rows. In each pair its first class is
    positive. Here classes are sorted, and of two classes the second is positive.
    """
    layout, at = PairLayout(len(found.labels)), np.argsort(found.labels)
    place = np.argsort(at)  # of each class of LIBSVM among the sorted ones
    ends = np.cumsum(found.n_support)
    rows = [np.arange(end - n, end) for end, n in zip(ends, found.n_support, strict=True)]
    order = np.concatenate([rows[c] for c in at])
    coef, rho = np.zeros_like(found.coef), np.zeros_like(found.rho)
    for p, (i, j) in enumerate(combinations(range(layout.classes), 2)):  # classes of LIBSVM
        a, b = int(place[i]), int(place[j])
        sign = 1.0 if a < b else -1.0
        sign *= layout.sign_of_first
        rho[layout.number[a, b]] = sign * found.rho[p]
        coef[layout.line(a, b), rows[i]] = sign * found.coef[layout.line(i, j), rows[i]]
        coef[layout.line(b, a), rows[j]] = sign * found.coef[layout.line(j, i), rows[j]]
    return coef[:, order], rho, order
