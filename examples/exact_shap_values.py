"""
Exact SHAP values
=================

``explain`` computes how much each feature moved the decision value of a row away from the mean of a
background. For the kernels rbf, laplacian and linear the values are exact, not sampled.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import widestreet as ws

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
model = ws.SVC(C=3.0).fit(X, data.target)
found = ws.explain(model, X[:150], background=X[::10])

# %%
# The values of a row and the base value add up to its decision value.

total = found.base_values + found.values.sum(axis=1)
print(f"largest difference {np.abs(total - model.decision_function(X[:150])).max():.0e}")

# %%
# The ten features with the largest mean effect. Colours are the values of the feature.

order = np.abs(found.values).mean(axis=0).argsort()[-10:]
rng = np.random.default_rng(0)
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for line, feature in enumerate(order):
    jitter = line + 0.12 * rng.standard_normal(150)
    dots = ax.scatter(
        found.values[:, feature], jitter, c=X[:150, feature], s=8, cmap="coolwarm", vmin=-2, vmax=2
    )
ax.set_yticks(range(10), data.feature_names[order])
ax.axvline(0, color="0.5", linewidth=0.8)
ax.set_xlabel("SHAP value, in units of the decision value")
fig.colorbar(dots, label="feature, standardised")
plt.show()
