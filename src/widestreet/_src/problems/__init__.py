"""The quadratic programmes of the five SVMs."""
