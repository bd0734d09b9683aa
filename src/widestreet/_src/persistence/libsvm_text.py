"""Models in the text format of LIBSVM.

    svm_type c_svc                    c_svc, nu_svc, one_class, epsilon_svr or nu_svr
    kernel_type rbf                   linear, polynomial, rbf, sigmoid or precomputed
    degree 3                          of polynomial
    gamma 0.5                         of all but linear and precomputed
    coef0 0                           of polynomial and sigmoid
    nr_class 2                        2 also without classes
    total_sv 2
    rho 0.25                          one number per pair of classes
    label 1 -1                        of classifiers: integers
    nr_sv 1 1                         of classifiers
    SV
    0.5 1:0.25 3:-1                   coefficients, then index:value, indices from 1
    -0.5 2:1

A vector has one coefficient less than there are classes. For a precomputed kernel it is `0:i`, the
number of the training row from 1. Values that are left out are zeros. LIBSVM writes values with 8
digits; here numbers have as many digits as they need to be read back exactly.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from widestreet._src.arrays import Floats, Ints
from widestreet._src.persistence.archive import ArchiveError
from widestreet._src.persistence.storage import replacing

CLASSIFIERS = ("c_svc", "nu_svc")
TYPES = (*CLASSIFIERS, "one_class", "epsilon_svr", "nu_svr")
KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
_IGNORED = ("probA", "probB", "prob_density_marks")
_MOST_CLASSES = 10_000
_MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class LibsvmModel:
    """A model as LIBSVM has it.

    Attributes
    ----------
    svm_type, kernel_type : str
    coef : ndarray of shape (classes - 1, n_SV)
    rho : ndarray of shape (pairs,)
        The decision value of a pair is the sum of coefficients times kernel values, less rho.
    vectors : CSR
        Support vectors; without columns for a precomputed kernel.
    serial : ndarray of shape (n_SV,)
        Numbers of the training rows, from 1, for a precomputed kernel.
    labels, n_support : ndarray
        Of classifiers: labels in the order of the classes, and support vectors of each class.
    degree, gamma, coef0
        Parameters of the kernel.
    """

    svm_type: str
    kernel_type: str
    coef: Floats
    rho: Floats
    vectors: Any
    serial: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    labels: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_support: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0


# -- writing ---------------------------------------------------------------------------------------


def write(path: str | os.PathLike[str], model: LibsvmModel) -> None:
    """Write a model; the file is replaced atomically."""
    with replacing(os.fspath(path)) as file:
        for line in _lines(model):
            file.write(line.encode("ascii") + b"\n")


def _lines(model: LibsvmModel) -> Iterator[str]:
    """Yield the lines of the file of a model, without line ends."""
    kernel, classifier = model.kernel_type, model.svm_type in CLASSIFIERS
    yield f"svm_type {model.svm_type}"
    yield f"kernel_type {kernel}"
    if kernel == "polynomial":
        yield f"degree {model.degree}"
    if kernel not in ("linear", "precomputed"):
        yield f"gamma {model.gamma!r}"
    if kernel in ("polynomial", "sigmoid"):
        yield f"coef0 {model.coef0!r}"
    yield f"nr_class {len(model.labels) if classifier else 2}"
    yield f"total_sv {model.coef.shape[1]}"
    yield f"rho {_joined(model.rho)}"
    if classifier:
        yield f"label {_joined(model.labels)}"
        yield f"nr_sv {_joined(model.n_support)}"
    yield "SV"
    for s in range(model.coef.shape[1]):
        yield f"{_joined(model.coef[:, s])} {_vector(model, s)}"


def _vector(model: LibsvmModel, s: int) -> str:
    """Return the entries of a support vector as text."""
    if model.kernel_type == "precomputed":
        return f"0:{model.serial[s]}"
    a, b = model.vectors.indptr[s : s + 2].tolist()
    at, values = model.vectors.indices[a:b].tolist(), model.vectors.data[a:b].tolist()
    return " ".join(f"{j + 1}:{value!r}" for j, value in zip(at, values, strict=True))


def _joined(values: Any) -> str:
    return " ".join(map(repr, values.tolist()))


# -- reading ---------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> LibsvmModel:
    """Read a model.

    Raises
    ------
    ArchiveError
        If the file is not a complete model.
    OSError
        If the file cannot be read.
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        text = file.read()
    if text.startswith(b"PK"):
        raise ArchiveError(
            f"{name} is not a model of LIBSVM: it is a zip file; if widestreet saved it, read it "
            "with widestreet.load"
        )
    lines = text.split(b"\n")
    try:
        header, begin = _header(lines)
    except (ValueError, IndexError) as error:
        raise ArchiveError(f"{name} is not a model of LIBSVM: {error}") from None
    try:
        return _model(header, lines[begin:])
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise ArchiveError(f"{name} is not a complete model of LIBSVM: {error}") from None


def _header(lines: list[bytes]) -> tuple[dict[str, list[str]], int]:
    """Return the words of each line up to SV, and the number of lines."""
    found: dict[str, list[str]] = {}
    known = {"svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho"}
    known |= {"label", "nr_sv", *_IGNORED}
    for number, line in enumerate(lines, 1):
        words = line.decode("ascii").split()
        if words == ["SV"]:
            return found, number
        if not words or words[0] not in known:
            raise ValueError(f"line {number} begins with {(words or [''])[0][:20]!r}")
        found[words[0]] = words[1:]
    raise ValueError("there is no line SV")


def _model(header: dict[str, list[str]], lines: list[bytes]) -> LibsvmModel:
    """Return the model of a header and the lines of its support vectors."""
    svm_type, kernel = _one(header, "svm_type"), _one(header, "kernel_type")
    if svm_type not in TYPES or kernel not in KERNELS:
        raise ValueError(f"svm_type {svm_type[:20]} and kernel_type {kernel[:20]} are not known")
    classes, total = int(_one(header, "nr_class")), int(_one(header, "total_sv"))
    classifier = svm_type in CLASSIFIERS
    if not 2 <= classes <= _MOST_CLASSES or (classes > 2 and not classifier):
        raise ValueError(f"nr_class is {classes}")
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    if total != len(lines):
        raise ValueError(f"total_sv is {total}, but {len(lines)} vectors follow")
    labels, n_support = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if classifier:
        labels, n_support = _integers(header, "label", classes), _integers(header, "nr_sv", classes)
        if len(np.unique(labels)) < classes or (n_support < 0).any() or n_support.sum() != total:
            raise ValueError("label and nr_sv do not fit the support vectors")
    coef, vectors, serial = _vectors(lines, classes - 1, precomputed=kernel == "precomputed")
    rho = np.array(header["rho"], dtype=np.float64)
    if rho.shape != (classes * (classes - 1) // 2 if classifier else 1,):
        raise ValueError(f"there are {len(rho)} values of rho")
    gamma, coef0 = float(header.get("gamma", ["0"])[0]), float(header.get("coef0", ["0"])[0])
    degree = int(header.get("degree", ["3"])[0])
    if not np.isfinite([gamma, coef0, *rho]).all():
        raise ValueError("a number of its header is not finite")
    return LibsvmModel(
        svm_type, kernel, coef, rho, vectors, serial, labels, n_support, degree, gamma, coef0
    )


def _one(header: dict[str, list[str]], name: str) -> str:
    """Return the only word after a name."""
    words = header.get(name, [])
    if len(words) != 1:
        raise ValueError(f"{name} has {len(words)} values")
    return words[0]


def _integers(header: dict[str, list[str]], name: str, count: int) -> Ints:
    words = header.get(name, [])
    if len(words) != count:
        raise ValueError(f"{name} has {len(words)} values, but nr_class is {count}")
    return np.array([int(word) for word in words], dtype=np.int64)


def _vectors(lines: list[bytes], count: int, *, precomputed: bool) -> tuple[Floats, Any, Ints]:
    """Return coefficients, vectors and serial numbers of the lines after SV."""
    coefs: list[list[float]] = []
    columns: list[int] = []
    values: list[float] = []
    ends, serial = [0], []
    for line in lines:
        words = line.decode("ascii").split()
        coefs.append([float(word) for word in words[:count]])
        if len(coefs[-1]) < count:
            raise ValueError(f"vector {len(coefs)} has fewer than {count} coefficients")
        entries = [word.split(":") for word in words[count:]]
        if precomputed:
            if len(entries) != 1 or entries[0][0] != "0":
                raise ValueError(f"vector {len(coefs)} of a precomputed kernel is not 0:number")
            serial.append(int(float(entries[0][1])))
            continue
        at = [int(index) - 1 for index, _ in entries]
        if any(b <= a for a, b in zip([-1, *at], at, strict=False)):
            raise ValueError(f"the indices of vector {len(coefs)} do not ascend from 1")
        columns += at
        values += [float(value) for _, value in entries]
        ends.append(len(columns))
    coef = np.array(coefs, dtype=np.float64).reshape(len(lines), count).T
    data = np.array(values, dtype=np.float64)
    if not (np.isfinite(coef).all() and np.isfinite(data).all()):
        raise ValueError("a coefficient or a value is not finite")
    width = max(columns, default=-1) + 1
    if width > _MOST_COLUMNS or min(serial, default=1) < 1:
        raise ValueError("an index is too large, or a serial number too small")
    if precomputed:
        ends = [0] * (len(lines) + 1)
    index = np.array(columns, dtype=np.int32)
    vectors = sparse.csr_matrix((data, index, np.array(ends)), shape=(len(lines), width))
    return np.ascontiguousarray(coef), vectors, np.array(serial, dtype=np.int64)
