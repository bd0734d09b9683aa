"""Studies of this library's own: each prints tables."""
