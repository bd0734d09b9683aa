"""
Models of fits that were ended early
====================================

A limit ends a fit with the best model so far. Its certificate states how much the objective can be
improved. Here fits are ended after more and more pair steps.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import widestreet as ws
from widestreet.datasets import checkerboard

X, y = checkerboard(3000, random_state=0)
X_test, y_test = checkerboard(5000, random_state=1)

steps = [200, 500, 1000, 2000, 5000, 10_000, 20_000]
gaps, errors = [], []
for limit in steps:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning states the gap, too
        model = ws.SVC(C=100.0, gamma=2.0, max_iter=limit, random_state=0).fit(X, y)
    gaps.append(model.certificate_.relative_gap)
    errors.append(1 - model.score(X_test, y_test))
    print(f"{limit:>6} steps: {model.certificate_.status}, relative gap {gaps[-1]:.1e}")

# %%
# The gap is a proof about the training problem; the test error usually settles earlier.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.loglog(steps, np.maximum(gaps, 1e-16), "o-")
left.set(xlabel="pair steps", ylabel="relative duality gap", title="Certificate")
right.semilogx(steps, errors, "o-", color="tab:orange")
right.set(xlabel="pair steps", ylabel="test error", ylim=(0, None), title="Rows not trained on")
plt.show()
