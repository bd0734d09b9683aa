"""
How exact is a model of scikit-learn?
=====================================

``certify`` computes the certificate of a model that another library has trained. Here scikit-learn
trains with several tolerances.
"""

import matplotlib.pyplot as plt
import sklearn.svm

import widestreet as ws
from widestreet.datasets import twonorm

X, y = twonorm(2000, random_state=0)
tolerances = [1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001]
certificates = []
for tol in tolerances:
    theirs = sklearn.svm.SVC(C=10.0, gamma=0.05, tol=tol).fit(X, y)
    certificates.append(ws.certify(theirs, X, y))
    print(f"tol {tol}: {certificates[-1]}")

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.loglog(tolerances, tolerances, "--", color="0.6", label="tolerance asked for")
ax.loglog(tolerances, [c.kkt_violation for c in certificates], "o-", label="violation")
ax.loglog(tolerances, [c.relative_gap for c in certificates], "o-", label="relative gap")
ax.set(xlabel="tol of scikit-learn")
ax.legend()
plt.show()
