"""Checks of parameters that users pass, and the objects that they name: kernels, strategies.

Every error message names the parameter and the remedy.
"""

from __future__ import annotations

from collections.abc import Callable as Function
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from widestreet._src import checks
from widestreet._src.engines.sampling.prsvm_and_rsvm import PRSVM, RSVM
from widestreet._src.engines.selection.auto_doubling import Auto
from widestreet._src.engines.selection.fixed_size_smo import SMO
from widestreet._src.engines.selection.interior import Interior
from widestreet._src.engines.selection.isvm import ISVM
from widestreet._src.engines.selection.randsvm import RandSVM
from widestreet._src.engines.selection.strategy_protocol import Strategy
from widestreet._src.kernels import kernels

KERNELS = (*kernels.NATIVE_KERNELS, "precomputed")
STRATEGIES: Mapping[str, type] = {
    "auto": Auto,
    "interior": Interior,
    "smo": SMO,
    "isvm": ISVM,
    "randsvm": RandSVM,
    "rsvm": RSVM,
    "prsvm": PRSVM,
}


def resolve_rng(random_state: Any) -> np.random.Generator:
    """Return a generator for scikit-learn's `random_state`; an integer is its seed."""
    whole = isinstance(random_state, Integral) and not isinstance(random_state, bool | np.bool_)
    if whole and 0 <= random_state < 2**32:
        return np.random.default_rng(int(random_state))
    try:
        state = check_random_state(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, an integer from 0 to 2^32 - 1 or a "
            f"numpy.random.RandomState, got {checks.shown(random_state)}"
        ) from None
    return np.random.default_rng(state.randint(np.iinfo(np.int32).max))


def resolve_strategy(strategy: Any) -> Strategy:
    """Return the strategy of a name, or the given strategy object."""
    if isinstance(strategy, str):
        if strategy not in STRATEGIES:
            names = ", ".join(map(repr, STRATEGIES))
            raise ValueError(
                f"strategy must be one of {names} or a Strategy, got {checks.shown(strategy)}"
            )
        chosen: Strategy = STRATEGIES[strategy]()
        return chosen
    if not isinstance(strategy, Strategy):
        raise TypeError(
            "strategy must be a name or an object such as ISVM(), not a class, got "
            f"{checks.shown(strategy)}"
        )
    return strategy


def require_kernel(kernel: Any) -> None:
    """Raise ValueError if a kernel is neither a string nor a callable."""
    if not (isinstance(kernel, str) or callable(kernel)):
        raise ValueError(
            f"kernel must be one of {', '.join(map(repr, KERNELS))} or a callable, got "
            f"{checks.shown(kernel)}"
        )


def uses_gamma(kernel: Any) -> bool:
    """Return whether a kernel of this name has a parameter gamma."""
    known = kernels.NATIVE_KERNELS.get(kernel) if isinstance(kernel, str) else None
    return known is not None and "gamma" in known.parameters()


def resolve_kernel(kernel: Any, *, gamma: float, coef0: Any, degree: Any) -> kernels.Kernel:
    """Return the kernel for scikit-learn's parameters; gamma is already a number."""
    require_kernel(kernel)
    if callable(kernel):
        return kernels.Callable(kernel)
    name = checks.require_choice("kernel", kernel, KERNELS)
    if name == "precomputed":
        return kernels.Precomputed()
    kind = kernels.NATIVE_KERNELS[name]
    given: dict[str, Any] = {"gamma": gamma}
    if "coef0" in kind.parameters():
        given["coef0"] = checks.require_real("coef0", coef0)
    if "degree" in kind.parameters():
        given["degree"] = checks.require_integer("degree", degree, least=0, most=1000)
    return kind(**{name: given[name] for name in kind.parameters()})


def resolve_gamma(
    gamma: Any, columns: int, variance: Function[[], float], *, more: tuple[str, ...] = ()
) -> float:
    """Return the value of gamma: "scale" is 1 / (columns * variance), "auto" is 1 / columns.

    Parameters
    ----------
    gamma : object
    columns : int
    variance : callable
        Returns the variance of all values. It is weighted, so that a weight of two has the effect
        of a repeated row.
    more : tuple of str
        Further names that the error message lists.
    """
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            names = ", ".join(map(repr, (*more, "scale", "auto")))
            raise ValueError(f"gamma must be one of {names} or a number, got {checks.shown(gamma)}")
        if gamma == "auto":
            return 1.0 / columns
        size = variance()
        return 1.0 / (columns * size) if size > 0 else 1.0
    return checks.require_real("gamma", gamma, least=0.0)


def check_class_weight(class_weight: Any) -> None:
    """Raise ValueError unless class weights are None, "balanced" or a dict of positive numbers."""
    balanced = isinstance(class_weight, str) and class_weight == "balanced"
    if not (class_weight is None or balanced or isinstance(class_weight, Mapping)):
        raise ValueError(
            "class_weight must be None, 'balanced' or a dict of class weights, got "
            f"{checks.shown(class_weight)}"
        )
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            checks.require_real(f"class_weight[{label!r}]", weight, above=0.0)


def breaks_ties(break_ties: bool, shape: str) -> bool:
    """Return whether ties are broken, which needs decision_function_shape="ovr"."""
    if break_ties and shape == "ovo":
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
    return break_ties
