"""Models of other libraries: their certificates, and conversions from and to them."""
