"""From a problem to a certified solution."""
