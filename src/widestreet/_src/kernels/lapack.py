"""LAPACK routines of the core: SciPy's, because the core links no LAPACK.

Limits on the threads of SciPy's BLAS apply to these calls too.
"""

from __future__ import annotations

from scipy.linalg import cython_blas, cython_lapack

from widestreet import _core


def provide() -> None:
    """Pass the LAPACK routines to the core."""
    _core.use_lapack(
        dposv=cython_lapack.__pyx_capi__["dposv"], dtrsv=cython_blas.__pyx_capi__["dtrsv"]
    )
