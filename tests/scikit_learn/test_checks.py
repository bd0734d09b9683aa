"""The estimators as a user of scikit-learn meets them: its checks, labels, refits, tiny data."""

from __future__ import annotations

from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import widestreet as ws
from support.machines import any_street

# -- scikit-learn's own checks, without any expected failure -----------------------------------


MACHINES = [
    (ws.SVC, {}),
    (ws.NuSVC, {"nu": 0.2}),  # the default is too large for the classes of some checks
    (ws.SVR, {}),
    (ws.NuSVR, {}),
    (ws.OneClassSVM, {}),
]
SETTINGS = [
    {"kernel": "linear", "tol": 1e-9},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.01, "strategy": "smo"},
    {"kernel": "sigmoid", "gamma": 0.01, "tol": 1e-6},
    {"kernel": "laplacian", "tol": 1e-9, "strategy": "smo"},
]
# What a hard-margin machine has forgotten at the end is where it began: its weights. Therefore
# neither aggregate="last" nor a linear kernel, of which the same is true, can give a class of
# weight 1000 what check_class_weight_classifiers wants it to have. And a kernel matrix must be
# positive semidefinite, which the matrices of random numbers in some checks are not.
ENSEMBLES = [
    {},
    {"rank": 20, "epsilon": 0.05, "folds": None},
    {"rank": 0.01, "kernel": "laplacian", "epsilon": 0.05, "folds": None},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1, "epsilon": 0.05, "folds": 2},
    {"intercept": True, "epsilon": 0.05, "folds": None},
    {"aggregate": "parzen"},
    {"learning_rate": "literal", "epsilon": 0.05, "folds": None},
]
CHECKED = [
    make(**own, **settings, n_jobs=1)
    for make, own in MACHINES
    for settings in ({}, {"kernel": "precomputed"})
    # scikit-learn's checks of outliers know no kernel matrices
    if not (make is ws.OneClassSVM and settings)
]
CHECKED += [
    ws.EnsembleSVC(epsilon=0.05, folds=2, n_jobs=1),  # in few steps
    ws.CalibratedSVC(ws.SVC(n_jobs=1, tol=1e-9)),  # folds are solved to it
    ws.IntervalSVR(ws.NuSVR(n_jobs=1)),
    ws.SVCCV(gammas=[0.1], cv=2, n_jobs=1),  # a line of values of C, in a short time
    ws.SVRCV(gammas=[0.1], epsilons=[0.1], cv=2, n_jobs=1),
]
# Other kernels and methods change the numbers, not what parameters, labels or shapes may be.
NUMBERS = (
    "check_class_weight_classifiers",
    "check_classifiers_train",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_outliers_train",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def name_of(check) -> str:
    return getattr(check, "func", check).__name__


@any_street
@pytest.mark.filterwarnings("ignore:the best value of C is at the end")
@pytest.mark.filterwarnings("ignore:The least populated class")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    run(estimator, check)


def run(estimator, check) -> None:
    """Run a check, none of those on weights may be skipped."""
    if isinstance(estimator, ws.NuSVC) and name_of(check) == "check_class_weight_classifiers":
        # weights of 1000 and 0.0001, between which there is no nu to speak of
        with pytest.raises(ValueError, match="largest possible nu"):
            check(estimator)
        return
    try:
        check(estimator)
    except SkipTest:
        assert "weight" not in name_of(check)
        raise


@pytest.mark.parametrize(
    "estimator", [e for e in CHECKED if getattr(e, "kernel", "") != "precomputed"], ids=str
)
def test_weights_are_among_the_checks(estimator):
    names = {name_of(check) for _, check in estimator_checks_generator(estimator)}
    assert names >= set(NUMBERS[-2:])


@any_street
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings["kernel"])
@pytest.mark.parametrize(("make", "own"), MACHINES)
def test_the_numbers_of_other_kernels_and_methods(make, own, settings):
    check_numbers(make(**own, **settings, n_jobs=1))


@any_street
@pytest.mark.parametrize("settings", ENSEMBLES, ids=str)
def test_the_numbers_of_other_ensembles(settings):
    check_numbers(ws.EnsembleSVC(**settings, n_jobs=1))


def check_numbers(estimator) -> None:
    found = set()
    for one, check in estimator_checks_generator(estimator):
        if name_of(check) in NUMBERS:
            run(one, check)
            found.add(name_of(check))
    assert found >= set(NUMBERS[-2:])  # a weight is a repetition
