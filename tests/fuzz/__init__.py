"""Random problems judged by a reference of their own, and malformed calls: python -m fuzz -h."""
