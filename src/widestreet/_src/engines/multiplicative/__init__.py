"""Multiplicative updates, and the ensembles that they make."""
