"""Kernels and the Gram matrix."""
