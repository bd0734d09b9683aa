r"""
Kernel values computed, and the kernel matrix
=============================================

The kernel matrix of n rows has n\ :sup:`2` values. Training computes a part of them, which becomes
smaller as n grows, because only the support vectors matter.
"""

import matplotlib.pyplot as plt
import numpy as np

import widestreet as ws
from widestreet.datasets import checkerboard

sizes = np.array([2_000, 4_000, 8_000, 16_000, 32_000, 64_000])
values, support = [], []
for n in sizes:
    X, y = checkerboard(int(n), random_state=0)
    model = ws.SVC(C=100.0, gamma=2.0, random_state=0).fit(X, y)
    values.append(model.n_kernel_values_)
    support.append(len(model.support_))

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.loglog(sizes, sizes.astype(float) ** 2, "--", color="0.5", label="kernel matrix")
left.loglog(sizes, values, "o-", label="computed, with the certificate")
left.set(xlabel="rows", ylabel="kernel values")
left.legend()
right.loglog(sizes, support, "o-", color="tab:orange")
right.set(xlabel="rows", ylabel="support vectors")
plt.show()
