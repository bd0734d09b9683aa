"""Algorithms that solve duals."""
