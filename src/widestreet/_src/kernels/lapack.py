"""The LAPACK that the core calls: SciPy's, since the core links none of its own.

Limits on the threads of SciPy's BLAS hold for these calls too.
"""

from __future__ import annotations

from scipy.linalg import cython_blas, cython_lapack

from widestreet import _core


def provide() -> None:
    """Hand the core the routines it needs."""
    _core.use_lapack(
        dposv=cython_lapack.__pyx_capi__["dposv"], dtrsv=cython_blas.__pyx_capi__["dtrsv"]
    )
