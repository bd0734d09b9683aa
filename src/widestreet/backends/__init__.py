"""Where kernel values are computed. Everything above sees only the Gram."""
