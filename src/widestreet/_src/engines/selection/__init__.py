"""Strategies: which rows enter the working set."""
