"""
Sample weights
==============

A weight multiplies C for its row. A weight of two has exactly the effect of a repeated row.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import widestreet as ws
from widestreet.plots import StreetDisplay

X, y = make_blobs(120, centers=[(-1, 0), (1, 0)], cluster_std=0.9, random_state=3)
weight = np.where(y == 1, 8.0, 1.0)  # errors in class 1 cost eight times as much

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, given, title in zip(axes, (None, weight), ("equal", "class 1: eight"), strict=True):
    model = ws.SVC(gamma=0.5).fit(X, y, sample_weight=given)
    StreetDisplay.from_estimator(model, X, y, ax=ax)
    wrong = model.predict(X) != y
    ax.set_title(f"weights {title}; errors: {(wrong & (y == 0)).sum()}, {(wrong & (y == 1)).sum()}")

plt.show()

# %%
# Eight copies of each row of class 1 give the same model.

repeated = np.repeat(np.arange(len(X)), weight.astype(int))
weighted = ws.SVC(gamma=0.5, tol=1e-9).fit(X, y, sample_weight=weight)
copied = ws.SVC(gamma=0.5, tol=1e-9).fit(X[repeated], y[repeated])
difference = weighted.decision_function(X) - copied.decision_function(X)
print(f"largest difference of decision values {np.abs(difference).max():.0e}")
