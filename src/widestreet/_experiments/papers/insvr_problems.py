"""The problems of INSVR: nine regression sets, three kernels.

The paper gives nu, C and the kernels, and of the sets names and sizes; Friedman alone it defines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from widestreet._experiments.papers import data
from widestreet._experiments.papers.paper import Problem

NU, C = 0.3, 100.0  # section 4.2
DEGREE, COEF0 = 2, 1.0  # of the polynomial kernel, section 4.2
GAMMA = 1.0  # 1 / (2 sigma^2) with sigma = 0.707, section 4.2: 1.0003, and surely meant to be 1
KERNELS = {"linear": "L", "poly": "P", "rbf": "G"}
# the paper's name, rows in its Table 2, file, and what the target is divided by
SETS: dict[str, tuple[str, int, str, float]] = {
    "housing": ("Housing", 506, "boston.csv", 1.0),
    "forest-fires": ("Forest Fires", 517, "forestfires.csv", 1.0),
    "auto-mpg": ("Auto MPG", 392, "autompg.csv", 1.0),
    "triazines": ("Triazines", 186, "triazines.csv", 1.0),
    "concrete": ("Concrete Compressive Strength", 1_030, "concrete.csv", 1.0),
    "friedman": ("Friedman", 15_000, "", 1.0),
    "cpusmall": ("Cpusmall", 8_192, "cpusmall.csv", 1.0),
    "cadata": ("Cadata", 20_640, "cal_housing.csv", 1e5),
    "year": ("YearPredictionMSD", 51_630, data.YEAR, 1.0),
}


@dataclass(frozen=True)
class Regression(Problem):
    """Rows that trials draw from, and a kernel."""

    def parameters(self) -> str:
        kernels = {"linear": "linear", "poly": f"(xx' + 1)^{DEGREE}", "rbf": f"gamma {GAMMA:g}"}
        return f"{kernels[self.kernel]}, nu {NU:g}, C {self.C:g} / l"

    def options(self) -> dict[str, Any]:
        """Return the parameters of the estimators."""
        kernel = {"kernel": self.kernel, "gamma": self.gamma, "coef0": COEF0, "degree": DEGREE}
        return kernel | {"nu": NU}

    def values(self, A: Any, B: Any) -> Any:
        """Kernel values."""
        if self.kernel == "linear":
            return linear_kernel(A, B)
        if self.kernel == "poly":
            return polynomial_kernel(A, B, degree=DEGREE, gamma=self.gamma, coef0=COEF0)
        return rbf_kernel(A, B, gamma=self.gamma)


def problems() -> dict[str, Regression]:
    """Nine sets, three kernels."""
    return {f"{name}-{kernel}": _problem(name, kernel) for name in SETS for kernel in KERNELS}


def _problem(name: str, kernel: str) -> Regression:
    title, rows, file, unit = SETS[name]
    made = "columns scaled to [0, 1]"
    made += f", target divided by {unit:,.0f}" if unit != 1 else ", target as it is"
    return Regression(
        f"{name}-{kernel}",
        partial(data.pool, file, unit) if file else data.friedman_pool,
        rows,
        "svr",
        GAMMA,
        C,
        "the paper's" + ("; it does not say how columns and targets are scaled" if file else ""),
        kernel=kernel,
        files=(file,) if file else (),
        source=f"{title}, {made if file else 'generated'}",
    )
