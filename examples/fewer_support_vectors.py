"""
Fewer support vectors, with a proven bound
==========================================

``compact`` returns a model with fewer support vectors. No decision value, of any possible row,
changes by more than the tolerance.
"""

import matplotlib.pyplot as plt
import numpy as np

import widestreet as ws
from widestreet.datasets import checkerboard
from widestreet.plots import StreetDisplay

X, y = checkerboard(3000, random_state=0)
model = ws.SVC(C=10.0, gamma=2.0).fit(X, y)
small = {tolerance: model.compact(tolerance) for tolerance in (0.02, 0.1, 0.3, 1.0)}

Z = np.random.default_rng(0).uniform(0, 4, (20_000, 2))
for tolerance, other in small.items():
    change = np.abs(other.decision_function(Z) - model.decision_function(Z)).max()
    print(
        f"tolerance {tolerance}: {len(other.support_)} of {len(model.support_)} support vectors, "
        f"bound {other.compaction_.bound:.3f}, largest change found {change:.3f}"
    )

fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for ax, shown in zip(axes, (model, small[0.3]), strict=True):
    StreetDisplay.from_estimator(shown, X, y, ax=ax)
    ax.set_title(f"{len(shown.support_)} support vectors")
plt.show()
