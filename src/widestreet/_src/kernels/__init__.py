"""Kernels and the Gram matrix. Importing this package, as `widestreet` does, provides LAPACK."""

from widestreet._src.kernels import lapack

lapack.provide()
