"""Interior-point engine for kernels of low rank."""
