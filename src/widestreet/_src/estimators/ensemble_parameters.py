"""Validation of the parameters that only ensembles have."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from widestreet._src import checks
from widestreet._src.engines.budget import parse_memory
from widestreet._src.engines.multiplicative.exponentiated_gradient import FixedRate, Projection
from widestreet._src.training.ensemble_plan import Plan

_EPSILON_GROWTH = 1.1  # factor of epsilon after a successful step; larger ones waste more steps
_AGGREGATES = ("ensemble", "last", "parzen")


def chooses_width(model: Any) -> bool:
    """Return whether an ensemble chooses the width of its kernel."""
    return isinstance(model.gamma, str) and model.gamma == "cv"


def plan_of(model: Any) -> Plan:
    """Return the validated parameters that only ensembles have."""
    least = checks.require_real("epsilon", model.epsilon, above=0.0)
    start = checks.require_real("epsilon_start", model.epsilon_start, above=0.0)
    if start < least:
        raise ValueError(
            f"epsilon_start={model.epsilon_start!r} must not be less than "
            f"epsilon={model.epsilon!r}: steps begin large and get smaller"
        )
    pace: Projection | FixedRate
    if isinstance(model.learning_rate, str):
        choices = ("adaptive", "literal")
        literal = checks.require_choice("learning_rate", model.learning_rate, choices)
        pace = Projection(start, least, 1.0 if literal == "literal" else _EPSILON_GROWTH)
    else:
        pace = FixedRate(checks.require_real("learning_rate", model.learning_rate, above=0.0))
    folds = 0
    if model.folds is not None:
        folds = checks.require_integer("folds", model.folds, least=2, none="None")
    if chooses_width(model):
        by_folds = folds and model.aggregate == "ensemble"
        if not by_folds or model.kernel not in ("rbf", "laplacian"):
            raise ValueError(
                "gamma='cv' needs kernel='rbf' or 'laplacian', folds and aggregate='ensemble', "
                f"got kernel={model.kernel!r}, folds={model.folds!r} and "
                f"aggregate={model.aggregate!r}"
            )
    rank: Any = model.rank
    if isinstance(rank, Integral):
        rank = checks.require_integer("rank", rank, least=1, none="a fraction of the trace")
    elif rank is not None:
        if not (isinstance(rank, Real) and 0.0 < float(rank) < 1.0):
            raise ValueError(
                "rank must be None, an integer or a fraction of the trace between 0 and 1, "
                f"got {model.rank!r}"
            )
        rank = float(rank)
    return Plan(
        pace=pace,
        aggregate=checks.require_choice("aggregate", model.aggregate, _AGGREGATES),
        rank=rank,
        intercept=checks.require_flag("intercept", model.intercept),
        prune=checks.require_real("prune", model.prune, least=0.0, most=1.0),
        part=least,
        memory=parse_memory(model.max_memory),
        keep=checks.require_flag("keep_stages", model.keep_stages),
        folds=folds,
    )
