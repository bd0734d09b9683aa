"""Machines whose rows come and go."""
