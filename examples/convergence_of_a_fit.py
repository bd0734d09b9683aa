"""
Convergence of a fit
====================

Every round of a fit leaves a record in ``trace_``. The plot shows the largest violation that a
round found and the estimated duality gap. The last points are those of the certificate, which are
proved.
"""

import matplotlib.pyplot as plt

import widestreet as ws
from widestreet.datasets import checkerboard
from widestreet.plots import ConvergenceDisplay

X, y = checkerboard(20_000, random_state=0)
model = ws.SVC(C=100.0, gamma=2.0, random_state=0).fit(X, y)
print(model.certificate_)

# %%
# The working set grows until it holds all support vectors.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
ConvergenceDisplay.from_estimator(model, ax=left)
trace = model.trace_.to_frame()
right.plot(trace["working_set"], "o-", label="rows of the working set")
right.plot(trace["n_sv"], "o-", label="support vectors")
right.set(xlabel="round", ylim=(0, None))
right.legend()
plt.show()
