"""The five online machines."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from widestreet.arrays import Floats, Ints
from widestreet.duals import Dual, c_svc, eps_svr, nu_svc, nu_svr, one_class
from widestreet.estimators import checks
from widestreet.estimators.classifier import Classifier
from widestreet.estimators.nu_svc import NuSVC
from widestreet.estimators.nu_svr import NuSVR
from widestreet.estimators.one_class import OneClassSVM
from widestreet.estimators.one_vs_one import one_vs_rest, pairs
from widestreet.estimators.online.exact import MakeDual
from widestreet.estimators.online.machine import OnlineMachine, level_of_caller
from widestreet.estimators.regressor import Regressor
from widestreet.estimators.svc import SVC
from widestreet.estimators.svr import SVR


class OnlineClassifier(OnlineMachine, Classifier):
    """Base of the online classifiers: one problem for each pair of classes that have rows."""

    _code: dict[Any, int]

    def _check_parameters(self) -> None:
        checks.require_choice(
            "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
        )
        checks.require_flag("break_ties", self.break_ties)
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' would change with every row; pass a dict of weights"
            )
        checks.check_class_weight(self.class_weight)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with labels y, and forget all others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, y, sample_weight)

    def _check_fit(self) -> None:
        if len(self._problems) == 0:
            raise ValueError(
                "y: Invalid input - all samples with positive weights belong to the same class: "
                "got 1 class, but fit needs rows of at least two; partial_fit can begin with one"
            )

    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        journal: Any = None,
    ) -> Self:
        """Add rows: the model becomes the one that `fit` would find on all rows that are there.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        classes : array-like, default=None
            All classes that may come, if they are known; others may come nevertheless.
        journal : str or path-like, default=None
            A file in which this call is written down before it returns, so that no crash loses
            it; `widestreet.online.load` reads it. A call without it closes the journal.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._partial_fit(X, y, sample_weight, journal, classes)

    def _targets(self, X: Any, y: Any, weight: Floats, classes: Any) -> Floats:
        check_classification_targets(y)
        labels = [np.unique(y)] if classes is None else [np.unique(y), np.unique(classes)]
        before = getattr(self, "classes_", None)
        if before is not None:
            labels.append(before)
        if len({label.dtype.kind in "OUS" for label in labels}) > 1:
            raise ValueError(
                f"y: labels such as {labels[0][0]!r} do not go with those that came before, such "
                f"as {labels[-1][0]!r}; use one kind"
            )
        self.classes_ = np.unique(np.concatenate(labels))
        if hasattr(self, "_store") and before is not None and len(before) < len(self.classes_):
            self._rename(before)
        code: Floats = np.searchsorted(self.classes_, y).astype(np.float64)
        return code

    def _rename(self, before: Any) -> None:
        """Classes have new numbers. Sets: the targets in the store, the names of problems."""
        new = np.searchsorted(self.classes_, before)
        self._store.target[:] = new[self._store.target.astype(np.int64)]
        self._problems = {
            (int(new[i]), int(new[j])): exact for (i, j), exact in self._problems.items()
        }

    def _class_factor(self) -> Floats:
        """The weight of each class."""
        given = self.class_weight or {}
        return np.array([float(given.get(label, 1.0)) for label in self.classes_.tolist()])

    def _factors(self, key: Any) -> tuple[float, float]:
        """The weights of the two classes of a problem."""
        factor = self._class_factor()
        return float(factor[key[0]]), float(factor[key[1]])

    def decision_function(self, X: Any) -> Floats:
        """As that of `SVC`; zero while rows of one class only have come.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes) or (n_samples, n_pairs)
        """
        if len(getattr(self, "classes_", "ab")) == 1:
            return np.zeros(self._query(X).shape[0])
        return super().decision_function(X)

    def predict(self, X: Any) -> Any:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if len(getattr(self, "classes_", "ab")) == 1:
            return np.repeat(self.classes_, self._query(X).shape[0])
        return super().predict(X)

    def _layout(self) -> dict[Any, Ints]:
        code = self._store.target.astype(np.int64)
        total = np.bincount(code, self._store.weight, len(self.classes_))
        present = np.flatnonzero(total > 0)
        return {
            (int(i), int(j)): np.flatnonzero((code == i) | (code == j))
            for a, i in enumerate(present)
            for j in present[a + 1 :]
        }

    def _left_out(self) -> Floats:
        store, k = self._store, len(self.classes_)
        number = {pair: p for p, pair in enumerate(pairs(k))}
        sign = 1.0 if k == 2 else -1.0
        code = store.target.astype(np.int64)
        values = self._decide(store.X)
        for (i, j), exact in self._problems.items():
            for row, found in exact.each_without():
                if found is None:  # it was the last of its class
                    value = 1.0 if code[row] == i else -1.0
                else:
                    middle, width = self._measured(found[1])
                    value = (found[0] + middle) / width
                values[row, number[i, j]] = sign * value
        if k == 2:
            return values[:, 0]
        return one_vs_rest(values, k) if self.decision_function_shape == "ovr" else values

    def _publish(self) -> None:
        store, k = self._store, len(self.classes_)
        code = store.target.astype(np.int64)
        total = np.bincount(code, store.weight, k)
        number = {pair: p for p, pair in enumerate(pairs(k))}
        coef, intercept, rho = np.zeros((max(1, k - 1), store.n)), np.zeros(len(number)), []
        sign = 1.0 if k == 2 else -1.0  # with more classes the first of a pair is positive
        for (i, j), p in number.items():
            exact = self._problems.get((i, j))
            if exact is None:  # whoever is there wins
                here = float(total[j] > 0) - float(total[i] > 0)
                intercept[p] = sign * here
                rho.append(1.0)
                continue
            middle, width = self._measured(exact.path.bias)
            rows, value = exact.members, sign * exact.path.coef / width
            line = np.zeros(len(rows), dtype=np.int64)
            if k > 2:
                line = np.where(code[rows] == i, j - 1, i)
            coef[line, rows] = value
            intercept[p] = sign * middle / width
            rho.append(width)
        support = np.flatnonzero(coef.any(axis=0))
        support = support[np.lexsort((store.ids[support], code[support]))]
        self._adopt_rows(
            coef,
            support,
            intercept,
            _rho=np.array(rho),
            class_weight_=self._class_factor(),
            n_support_=np.bincount(code[support], minlength=k).astype(np.int32),
        )


class OnlineSVC(OnlineClassifier, SVC):
    """C-support vector classification, exact after every row that comes or goes.

    Parameters
    ----------
    C : float, default=1.0
        Price of a violation. After `set_params` the next call goes to the optimum of the new one.
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        It must be positive semidefinite.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" and "auto" are computed from the first rows and kept.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    tol : float, default=1e-8
        What `verify` calls optimal.
    class_weight : dict, default=None
    max_rows : int, default=None
        Rows to keep: the oldest are forgotten as new ones come.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
    random_state : int, RandomState or None, default=None
        For the batch engine, which finds the first optimum.
    max_memory : int, float or str, default=None
        For the batch engine.
    n_jobs : int, default=None
        Threads; None uses every processor available to the process.

    Examples
    --------
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.online import OnlineSVC
    >>> X, y = checkerboard(300, random_state=0)
    >>> model = OnlineSVC(C=10, gamma=2.0).fit(X[:200], y[:200])
    >>> model.partial_fit(X[200:], y[200:]).verify().status
    'optimal'
    >>> model.forget(range(50)).n_rows_
    250
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        class_weight: Any = None,
        max_rows: int | None = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.max_rows = max_rows
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checks.require_real("C", self.C, above=0.0)

    def _make(self, key: Any) -> MakeDual:
        return partial(_svc_dual, key[0], self._factors(key), float(self.C))


class OnlineNuSVC(OnlineClassifier, NuSVC):
    """Nu-support vector classification, exact after every row that comes or goes.

    Parameters
    ----------
    nu : float, default=0.5
        Where the classes are too uneven for it, the largest value they allow is used, with a
        warning.
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        It must be positive semidefinite.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" and "auto" are computed from the first rows and kept.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    tol : float, default=1e-8
        What `verify` calls optimal.
    class_weight : dict, default=None
    max_rows : int, default=None
        Rows to keep: the oldest are forgotten as new ones come.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
    random_state : int, RandomState or None, default=None
        For the batch engine, which finds the first optimum.
    max_memory : int, float or str, default=None
        For the batch engine.
    n_jobs : int, default=None
        Threads; None uses every processor available to the process.

    Examples
    --------
    >>> from widestreet.datasets import checkerboard
    >>> from widestreet.online import OnlineNuSVC
    >>> X, y = checkerboard(300, random_state=0)
    >>> model = OnlineNuSVC(nu=0.3, gamma=2.0).fit(X[:200], y[:200])
    >>> model.partial_fit(X[200:], y[200:]).verify().status
    'optimal'
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        class_weight: Any = None,
        max_rows: int | None = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.max_rows = max_rows
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checks.require_real("nu", self.nu, above=0.0, most=1.0)

    def _make(self, key: Any) -> MakeDual:
        return partial(_nu_svc_dual, key[0], self._factors(key), float(self.nu))

    def _publish(self) -> None:
        super()._publish()
        low = [
            pair
            for pair, exact in self._problems.items()
            if _largest_nu(exact.dual.upper[0] > 0, np.abs(exact.dual.lower + exact.dual.upper)[0])
            < float(self.nu) * (1 - 1e-12)
        ]
        if low:
            names = ", ".join(f"{self.classes_[i]} against {self.classes_[j]}" for i, j in low[:5])
            warnings.warn(
                f"nu={self.nu!r} is infeasible for {names}: one class has too few rows; the "
                "largest possible value is used until it has more",
                UserWarning,
                stacklevel=level_of_caller(),
            )


def _svc_dual(
    first: int, factors: tuple[float, float], C: float, code: Floats, weight: Floats
) -> Dual:
    box = C * weight * np.where(code == first, *factors)
    return c_svc(np.where(code == first, -1.0, 1.0), box)


def _nu_svc_dual(
    first: int, factors: tuple[float, float], nu: float, code: Floats, weight: Floats
) -> Dual:
    sign, box = np.where(code == first, -1.0, 1.0), weight * np.where(code == first, *factors)
    return nu_svc(sign, min(nu, _largest_nu(sign, box)), box)


def _svr_dual(C: float, epsilon: float, y: Floats, weight: Floats) -> Dual:
    return eps_svr(y, C * weight, epsilon)


def _nu_svr_dual(C: float, nu: float, mean: bool, y: Floats, weight: Floats) -> Dual:
    return nu_svr(y, C / float(weight.sum()) if mean else C, nu, weight)


def _one_class_dual(nu: float, target: Floats, weight: Floats) -> Dual:
    return one_class(len(target), nu, weight)


def _largest_nu(sign: Any, box: Floats) -> float:
    """The largest nu that two classes allow."""
    plus = float(box[np.asarray(sign) > 0].sum())
    return 2.0 * min(plus, float(box.sum()) - plus) / float(box.sum())


class OnlineRegressor(OnlineMachine, Regressor):
    """Base of the online regressions: one problem."""

    def _y_options(self) -> dict[str, Any]:
        return {"y_numeric": True}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows X with targets y, and forget all others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, journal: Any = None
    ) -> Self:
        """Add rows: the model becomes the one that `fit` would find on all rows that are there.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        journal : str or path-like, default=None
            A file in which this call is written down before it returns, so that no crash loses
            it; `widestreet.online.load` reads it. A call without it closes the journal.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._partial_fit(X, y, sample_weight, journal)

    def _check_parameters(self) -> None:
        self._dual(checks.require_real("C", self.C, above=0.0))

    def _targets(self, X: Any, y: Any, weight: Floats, classes: Any) -> Floats:
        return np.asarray(y, dtype=np.float64)

    def _tolerance(self) -> float:
        return super()._tolerance() * max(1.0, float(np.abs(self._store.target).max(initial=0.0)))

    def _layout(self) -> dict[Any, Ints]:
        return {None: np.arange(self._store.n)} if self._store.weight.any() else {}

    def _left_out(self) -> Floats:
        return _single_left_out(self, lambda bias: self._read(bias)["intercept_"][0])

    def _publish(self) -> None:
        _publish_single(self, self._read)


class OnlineSVR(OnlineRegressor, SVR):
    """Epsilon-support vector regression, exact after every row that comes or goes.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        It must be positive semidefinite.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" and "auto" are computed from the first rows and kept.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    tol : float, default=1e-8
        What `verify` calls optimal, in parts of the largest target.
    C : float, default=1.0
        Price of a residual beyond epsilon.
    epsilon : float, default=0.1
        Half the width of the tube within which residuals cost nothing.
    max_rows : int, default=None
        Rows to keep: the oldest are forgotten as new ones come.
    random_state : int, RandomState or None, default=None
        For the batch engine, which finds the first optimum.
    max_memory : int, float or str, default=None
        For the batch engine.
    n_jobs : int, default=None
        Threads; None uses every processor available to the process.

    Examples
    --------
    >>> from widestreet.datasets import friedman
    >>> from widestreet.online import OnlineSVR
    >>> X, y = friedman(300, random_state=0)
    >>> model = OnlineSVR(C=10, epsilon=1.0, max_rows=200).fit(X[:200], y[:200])
    >>> model.partial_fit(X[200:], y[200:]).n_rows_
    200
    >>> model.verify().status
    'optimal'
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        C: float = 1.0,
        epsilon: float = 0.1,
        max_rows: int | None = None,
        random_state: Any = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.max_rows = max_rows
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    def _make(self, key: Any) -> MakeDual:
        return partial(_svr_dual, float(self.C), float(self.epsilon))


class OnlineNuSVR(OnlineRegressor, NuSVR):
    """Nu-support vector regression, exact after every row that comes or goes.

    Parameters
    ----------
    nu : float, default=0.5
        Bounds the part of the rows outside the tube from above, that of the support vectors from
        below.
    C : float, default=1.0
        Price of a residual beyond the tube.
    scaling : {"libsvm", "schoelkopf"}, default="libsvm"
        What C means: the price of a residual, as everywhere else, or that of their mean, C divided
        by the sum of the weights, as in the papers that introduced the machine. Then every row
        that comes makes all others cheaper.
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        It must be positive semidefinite.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" and "auto" are computed from the first rows and kept.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    tol : float, default=1e-8
        What `verify` calls optimal, in parts of the largest target.
    max_rows : int, default=None
        Rows to keep: the oldest are forgotten as new ones come.
    random_state : int, RandomState or None, default=None
        For the batch engine, which finds the first optimum.
    max_memory : int, float or str, default=None
        For the batch engine.
    n_jobs : int, default=None
        Threads; None uses every processor available to the process.

    Examples
    --------
    >>> from widestreet.datasets import friedman
    >>> from widestreet.online import OnlineNuSVR
    >>> X, y = friedman(300, random_state=0)
    >>> model = OnlineNuSVR(C=10, nu=0.3).fit(X[:200], y[:200])
    >>> model.partial_fit(X[200:], y[200:]).verify().status
    'optimal'
    >>> bool(model.epsilon_ > 0)
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        scaling: str = "libsvm",
        max_rows: int | None = None,
        random_state: Any = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.scaling = scaling
        self.max_rows = max_rows
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checks.require_choice("scaling", self.scaling, ("libsvm", "schoelkopf"))

    def _make(self, key: Any) -> MakeDual:
        return partial(_nu_svr_dual, float(self.C), float(self.nu), self.scaling == "schoelkopf")


class OnlineOneClassSVM(OnlineMachine, OneClassSVM):
    """The region where rows are dense, exact after every row that comes or goes.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        It must be positive semidefinite.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" and "auto" are computed from the first rows and kept.
    coef0 : float, default=0.0
        Constant in the polynomial kernel; not negative.
    tol : float, default=1e-8
        What `verify` calls optimal.
    nu : float, default=0.5
        Bounds the part of the outliers from above, that of the support vectors from below.
    max_rows : int, default=None
        Rows to keep: the oldest are forgotten as new ones come.
    random_state : int, RandomState or None, default=None
        For the batch engine, which finds the first optimum.
    max_memory : int, float or str, default=None
        For the batch engine.
    n_jobs : int, default=None
        Threads; None uses every processor available to the process.

    Examples
    --------
    >>> import numpy as np
    >>> from widestreet.online import OnlineOneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = OnlineOneClassSVM(nu=0.1).fit(X[:200])
    >>> model.partial_fit(X[200:]).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        nu: float = 0.5,
        max_rows: int | None = None,
        random_state: Any = None,
        max_memory: int | float | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.max_rows = max_rows
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the region of rows X, and forget all others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, "no_validation", sample_weight)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, journal: Any = None
    ) -> Self:
        """Add rows: the model becomes the one that `fit` would find on all rows that are there.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
        journal : str or path-like, default=None
            A file in which this call is written down before it returns, so that no crash loses
            it; `widestreet.online.load` reads it. A call without it closes the journal.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._partial_fit(X, "no_validation", sample_weight, journal)

    def _check_parameters(self) -> None:
        checks.require_real("nu", self.nu, above=0.0, most=1.0)

    def _targets(self, X: Any, y: Any, weight: Floats, classes: Any) -> Floats:
        return np.zeros(X.shape[0])

    def _layout(self) -> dict[Any, Ints]:
        return {None: np.arange(self._store.n)} if self._store.weight.any() else {}

    def _make(self, key: Any) -> MakeDual:
        return partial(_one_class_dual, float(self.nu))

    def _left_out(self) -> Floats:
        return _single_left_out(self, lambda bias: bias[0])

    def _publish(self) -> None:
        _publish_single(self, lambda bias: {"intercept_": bias.copy(), "offset_": -bias})


def _single_left_out(machine: OnlineMachine, intercept: Any) -> Floats:
    """Values of the rows by the models without them; nothing is known of a lonely row."""
    values = np.full(machine._store.n, np.nan)
    for exact in machine._problems.values():
        now = exact.path.score + intercept(exact.path.bias)
        values[exact.members] = now
        for row, found in exact.each_without():
            values[row] = np.nan if found is None else found[0] + intercept(found[1])
    return values


def _publish_single(machine: OnlineMachine, read: Any) -> None:
    """Make the one solution the model."""
    store = machine._store
    groups = machine._make(None)(np.zeros(1), np.ones(1)).groups
    coef, found = np.zeros((1, store.n)), read(np.zeros(groups))
    for exact in machine._problems.values():
        coef[0, exact.members] = exact.path.coef
        found = read(exact.path.bias)
    support = np.flatnonzero(coef[0])
    support = support[np.argsort(store.ids[support], kind="stable")]
    machine._adopt_rows(
        coef,
        support,
        found.pop("intercept_"),
        n_support_=np.array([len(support)], dtype=np.int32),
        **found,
    )


NAMES: dict[str, type[OnlineMachine]] = {
    machine.__name__: machine
    for machine in (OnlineSVC, OnlineNuSVC, OnlineSVR, OnlineNuSVR, OnlineOneClassSVM)
}
