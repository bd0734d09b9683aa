"""
Leave-one-out predictions of all models at once
===============================================

``leave_one_out`` predicts each row with the model trained on all other rows. It finds these models
from the model of all rows, without refits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import widestreet as ws

X, y = make_moons(150, noise=0.25, random_state=0)
X_test, y_test = make_moons(5000, noise=0.25, random_state=1)
sign = 2 * y - 1

gammas = np.geomspace(0.05, 50, 9)
trained, left_out, test = [], [], []
for gamma in gammas:
    model = ws.SVC(C=10.0, gamma=gamma).fit(X, y)
    trained.append(1 - model.score(X, y))
    left_out.append(np.mean(ws.leave_one_out(ws.SVC(C=10.0, gamma=gamma), X, y) * sign <= 0))
    test.append(1 - model.score(X_test, y_test))

# %%
# The error on the training rows falls with gamma. The leave-one-out error follows that of new rows.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.semilogx(gammas, trained, "o-", color="0.6", label="training rows")
ax.semilogx(gammas, left_out, "o-", label="leave-one-out, 150 rows")
ax.semilogx(gammas, test, "o--", label="5,000 new rows")
ax.set(xlabel="gamma", ylabel="error", ylim=(0, None))
ax.legend()
plt.show()
