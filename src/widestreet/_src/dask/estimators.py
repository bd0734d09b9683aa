"""Estimators that train on the collections of a Dask cluster."""

from __future__ import annotations

import copy
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, ClassVar, Self

import cloudpickle
from dask.delayed import delayed

from widestreet._src.dask.collections import Partitions, is_collection
from widestreet._src.dask.connection import connected
from widestreet._src.dask.fit import fit_collections
from widestreet._src.dask.prediction import ACCURACY, DETERMINATION, Score, predicted
from widestreet._src.dask.waiting import collect
from widestreet._src.estimators import nu_svc, nu_svr, one_class, svc, svr
from widestreet._src.estimators.optimal import OptimalFit


def _describe(k: int) -> tuple[str, str]:
    return f"partition {k}", "use smaller partitions, for example with repartition or rechunk"


def _with_client(local: Any) -> Callable[..., None]:
    """Return the constructor of a local estimator with the parameter `client`."""

    def construct(self: Any, *, client: Any = None, **parameters: Any) -> None:
        local.__init__(self, **parameters)
        self.client = client

    made: Any = construct
    made.__name__, made.__qualname__ = "__init__", f"{local.__name__}.__init__"
    known = signature(local.__init__)
    client = Parameter("client", Parameter.KEYWORD_ONLY, default=None)
    made.__signature__ = known.replace(parameters=[*known.parameters.values(), client])
    return construct


class OnCluster(OptimalFit):
    """Base class of the estimators of a cluster.

    A fit on arrays is that of the local estimator, and so is a prediction.
    """

    client: Any
    _local: ClassVar[type]
    _targets: ClassVar[str] = "labels"

    # -- as an object ------------------------------------------------------------------------------

    def __getstate__(self) -> Any:
        """Return what is pickled or copied: a client belongs to its process and has no copy."""
        state = super().__getstate__()
        return state | {"parameters": state["parameters"] | {"client": None}}

    def save(self, path: Any, *, trace: bool = True) -> None:
        """Write the model to a file, which `widestreet.load` reads as an estimator of one process.

        Parameters
        ----------
        path : str or path-like
        trace : bool, default=True
            If False, `trace_` is left out.
        """
        self._check_fitted()
        self.to_local().save(path, trace=trace)

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy with the same client."""
        bare = copy.copy(self)  # has no client
        made: Self = super(OnCluster, bare).__sklearn_clone__()
        made.client = self.client
        return made

    def to_local(self) -> Any:
        """Return the same model as an estimator of one process.

        Returns
        -------
        estimator
            An estimator of `widestreet`, which needs no cluster and no Dask.
        """
        self._check_fitted()
        local: Any = object.__new__(self._local)
        local.__dict__ = {name: value for name, value in vars(self).items() if name != "client"}
        return local

    def _unfitted(self) -> Any:
        """Return a local estimator with the same parameters."""
        given = self.get_params(deep=False)
        del given["client"]
        return self._local(**given)

    # -- training ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, start: Any = None) -> Self:
        """Train on the rows of collections.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of Delayed
            Training rows; partitions may be dense or CSR.
        y : Dask array, Dask series, or list of Delayed
            Labels or targets, with the partitions of X. Ignored by one-class SVMs.
        sample_weight : Dask array, Dask series, or list of Delayed, default=None
            Weights of the rows, with the partitions of X.
        start : estimator, default=None
            Model to start from, for arrays only: as of the local estimator.

        Returns
        -------
        estimator
            The fitted estimator itself.
        """
        y = None if self._targets == "none" else y
        if not any(map(is_collection, (X, y, sample_weight))):
            self._fit_locally(X, y, sample_weight, start)
            return self
        if start is not None:
            raise ValueError("start must be None for collections, whose rows are on the workers")
        self._check_kernel()
        with connected(self.client) as client:
            fit_collections(self, client, X, y, sample_weight)
        return self

    def _fit_locally(self, X: Any, y: Any, sample_weight: Any, start: Any = None) -> None:
        """Train on arrays, as the local estimator does. Sets: the fitted attributes."""
        super().fit(X, y, sample_weight, start)

    def _check_kernel(self) -> None:
        """Raise TypeError for kernels that workers cannot compute."""
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise TypeError(
                "kernel='precomputed' needs all kernel values in one process: use the estimators "
                "of widestreet, or another kernel"
            )
        if callable(self.kernel):
            try:
                cloudpickle.dumps(self.kernel)
            except Exception as error:
                raise TypeError(
                    f"kernel: {self.kernel!r} cannot be sent to the workers ({error}); use a "
                    "function of a module"
                ) from None

    # -- prediction --------------------------------------------------------------------------------

    def _for_rows(self, method: str, X: Any) -> Any:
        """Return what a method of the local estimator returns, lazily for a collection."""
        self._check_fitted()
        if is_collection(X):
            return predicted(self.to_local(), method, X)
        return getattr(super(), method)(X)

    def predict(self, X: Any) -> Any:
        """Return the prediction for each row, lazily for a collection.

        Parameters
        ----------
        X : collection or array-like of shape (n_samples, n_features)

        Returns
        -------
        array, series, list of Delayed, or ndarray
            An array for a Dask array, a series with the same index for a data frame, a list for a
            list of Delayed, an ndarray for anything else.
        """
        return self._for_rows("predict", X)

    def _scored(self, X: Any, y: Any, sample_weight: Any, kind: Score) -> float:
        """Return a score that is summed by partition; of arrays, that of the local estimator."""
        self._check_fitted()
        if not any(map(is_collection, (X, y, sample_weight))):
            return float(super().score(X, y, sample_weight))
        parts = Partitions.of(X, y, sample_weight)
        if parts.y is None:
            raise ValueError("y is missing: pass the labels or targets, with the partitions of X")
        weight = parts.weight
        weights = weight if isinstance(weight, list) else [weight] * len(parts)
        model, of_part = delayed(self.to_local(), traverse=False), delayed(kind.of_part)
        sums = [of_part(*one, model) for one in zip(parts.X, parts.y, weights, strict=True)]
        with connected(self.client) as client:
            return kind.of_all(collect(client, client.compute(sums), lambda: None, _describe))


class ClusterClassifier(OnCluster):
    """Base class of the classifiers of a cluster."""

    def decision_function(self, X: Any) -> Any:
        """Return the decision value of each row, lazily for a collection.

        Parameters
        ----------
        X : collection or array-like of shape (n_samples, n_features)

        Returns
        -------
        array, series or data frame, list of Delayed, or ndarray
            As of `predict`; a data frame if there are several values for each row.
        """
        return self._for_rows("decision_function", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted.

        Parameters
        ----------
        X : collection or array-like of shape (n_samples, n_features)
        y : collection or array-like of shape (n_samples,)
        sample_weight : collection or array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        return self._scored(X, y, sample_weight, ACCURACY)


class ClusterRegressor(OnCluster):
    """Base class of the regressors of a cluster."""

    _targets = "numbers"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R^2 of the predictions.

        Parameters
        ----------
        X : collection or array-like of shape (n_samples, n_features)
        y : collection or array-like of shape (n_samples,)
        sample_weight : collection or array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        return self._scored(X, y, sample_weight, DETERMINATION)


def _documented(what: str, name: str, data: str = "friedman", given: str = "X, y") -> str:
    """Return the docstring of an estimator; its example trains on a generator of datasets."""
    return f"{what} on a Dask cluster.{_TEXT.format(name=name, data=data, given=given)}"


_TEXT = """

    A fit on collections leaves their partitions on the workers. The scores of their rows are
    computed there; the working set is solved in this process. Inputs of at most 20,000 rows are
    gathered and fitted here.

    Parameters
    ----------
    client : distributed.Client, default=None
        Client of the cluster. None is the default client or, within a task, that of its worker.
    **parameters
        Those of :class:`widestreet.{name}`. `max_memory` is the limit of this process and of each
        worker, for everything beside the rows. The kernel cannot be "precomputed".

    Attributes
    ----------
    support_ and others
        Those of :class:`widestreet.{name}`, as arrays of this process.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from widestreet.dask import {name}
    >>> from widestreet.datasets import {data}
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> X, y = (da.from_array(array) for array in {data}(500, random_state=0))
    >>> {name}().fit({given}).certificate_.status
    'optimal'
    >>> client.close()
    """


class SVC(ClusterClassifier, svc.SVC):
    __doc__ = _documented("C-support vector classification", "SVC", "twonorm")
    _local = svc.SVC
    __init__ = _with_client(svc.SVC)


class NuSVC(ClusterClassifier, nu_svc.NuSVC):
    __doc__ = _documented("Nu-support vector classification", "NuSVC", "twonorm")
    _local = nu_svc.NuSVC
    __init__ = _with_client(nu_svc.NuSVC)


class SVR(ClusterRegressor, svr.SVR):
    __doc__ = _documented("Epsilon-support vector regression", "SVR")
    _local = svr.SVR
    __init__ = _with_client(svr.SVR)


class NuSVR(ClusterRegressor, nu_svr.NuSVR):
    __doc__ = _documented("Nu-support vector regression", "NuSVR")
    _local = nu_svr.NuSVR
    __init__ = _with_client(nu_svr.NuSVR)


class OneClassSVM(OnCluster, one_class.OneClassSVM):
    __doc__ = _documented("One-class SVM", "OneClassSVM", "twonorm", "X")
    _targets = "none"
    _local = one_class.OneClassSVM
    __init__ = _with_client(one_class.OneClassSVM)

    def decision_function(self, X: Any) -> Any:
        """Return the decision value of each row, lazily for a collection.

        Parameters
        ----------
        X : collection or array-like of shape (n_samples, n_features)

        Returns
        -------
        array, series, list of Delayed, or ndarray
            As of `predict`.
        """
        return self._for_rows("decision_function", X)

    def score_samples(self, X: Any) -> Any:
        """Return the decision values before `offset_` is subtracted, lazily for a collection.

        Parameters
        ----------
        X : collection or array-like of shape (n_samples, n_features)

        Returns
        -------
        array, series, list of Delayed, or ndarray
            As of `predict`.
        """
        return self._for_rows("score_samples", X)
