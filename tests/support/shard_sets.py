"""Shards behind every port, at a point of a small problem."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from reference.duals import MODELS
from support.fitting import build_dual
from support.ports import FAR, PORTS, shard_set
from widestreet._src.kernels.gram import Gram
from widestreet._src.kernels.kernels import RBF
from widestreet._src.kernels.poll import Poll
from widestreet._src.rows import as_rows
from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.point import Point
from widestreet._src.shards.port import LocalPort
from widestreet._src.shards.runner import LocalRunner
from widestreet.datasets import friedman, twonorm

CONNECT = PORTS | FAR | {"threads": partial(LocalPort, runner=LocalRunner(3))}
every_port = pytest.mark.parametrize("port", CONNECT)
every_model = pytest.mark.parametrize("model", MODELS)


def shards_at_a_point(parts: int, port: str, rng, model: str = "c_svc"):
    """Shards of 90 rows out of 100, a point that was published to them, and the dual."""
    X, y = friedman(100, random_state=1) if model.endswith("svr") else twonorm(100, random_state=1)
    kept = np.sort(rng.choice(100, 90, replace=False))
    dual = build_dual(model, np.float64(y[kept]), C=1.0, nu=0.4)
    gram = Gram(RBF(0.1), as_rows(X)).select(kept)
    shards = shard_set(gram, dual, parts=parts, poll=Poll(), connect=CONNECT[port])
    shards.use_double()
    beta = np.where(rng.random(dual.target.shape) < 0.3, dual.upper + dual.lower, 0.0)
    point = Point.of(beta)
    expansion = Expansion.zero(dual.groups)
    expansion = expansion.published(point.ids, point.coef, np.zeros(dual.groups), np.inf)
    shards.publish(expansion, point)
    return shards, dual, beta
