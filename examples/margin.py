"""
The margin and its certificate
==============================

An SVM separates two classes by the widest margin. The solid line is the decision boundary, the
dashed lines are the edges of the margin, and circles mark the support vectors.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import widestreet as ws
from widestreet.plots import StreetDisplay

X, y = make_moons(400, noise=0.2, random_state=0)
model = ws.SVC(C=10.0, gamma=1.0).fit(X, y)

# %%
# The certificate states how far the model can be from the optimum. It is computed over all rows.

print(model.certificate_)

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
StreetDisplay.from_estimator(model, X, y, ax=ax)
ax.set_title(f"{len(model.support_)} support vectors of {len(X)} rows")
plt.show()
