"""The optimum as rows, weights and parameters change."""
