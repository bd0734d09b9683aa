"""Fitted estimators from the coefficients of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from widestreet._src.arrays import Floats, Ints
from widestreet._src.estimators.classifier import Classifier
from widestreet._src.estimators.fitted import fitted_attributes
from widestreet._src.estimators.model import as_names
from widestreet._src.estimators.outlier_detector import OutlierDetector
from widestreet._src.kernels.kernels import Kernel, Precomputed
from widestreet._src.problems.class_pairs import PairLayout


def assembled(
    model: Any,
    *,
    kernel: Kernel,
    vectors: Any,
    coef: Floats,
    intercept: Floats,
    support: Ints,
    n_support: Ints,
    shape_fit: tuple[int, int],
    classes: Any = None,
    class_weight: Floats | None = None,
    names: Any = None,
    steps: Any = 0,
) -> Any:
    """Return an estimator with a model that was trained elsewhere; it has no certificate yet.

    Parameters
    ----------
    model : KernelModel
        Estimator with the parameters of the model, not fitted.
    kernel : Kernel
    vectors : ndarray, CSR or None
        Support vectors, class by class; None for a precomputed kernel.
    coef : ndarray of shape (lines, n_SV)
        `dual_coef_` in the signs and the order of scikit-learn.
    intercept, support, n_support : ndarray
        Fitted attributes of these names.
    shape_fit : tuple of int
        Shape of the training data.
    classes, class_weight : ndarray
        Of classifiers: sorted labels and their weights.
    names : array-like of str, optional
        Names of the columns.
    steps : int or ndarray
        Number of steps that training took.

    Sets: everything that is fitted.
    """
    precomputed = isinstance(kernel, Precomputed)
    if precomputed:
        vectors = np.empty((len(support), 0))
    fitted = fitted_attributes(
        kernel=kernel,
        X=vectors,
        centre=None,
        coef=np.asarray(coef, dtype=np.float64),
        support=np.arange(len(support)),
        index=np.asarray(support, dtype=np.int64),
        intercept=np.array(intercept, dtype=np.float64),
        n_support=np.asarray(n_support),
        scale=float(getattr(model, "C", 1.0)),
        records=(),
        kernel_values=0,
        steps=steps,
        certificates=None,
    )
    fitted |= {"shape_fit_": shape_fit, "n_features_in_": shape_fit[1]}
    if names is not None:
        fitted["feature_names_in_"] = as_names(names)
    if isinstance(model, Classifier):
        weight = np.ones(len(classes)) if class_weight is None else class_weight
        fitted |= {
            "classes_": np.asarray(classes),
            "class_weight_": np.array(weight, dtype=np.float64),
            "_rho": np.ones(len(PairLayout(len(classes)).pairs)),
        }
    if isinstance(model, OutlierDetector):
        fitted["offset_"] = -fitted["intercept_"]
    model.__dict__ = vars(model) | fitted
    return model
