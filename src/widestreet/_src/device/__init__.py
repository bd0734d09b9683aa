"""Devices that compute kernel values beside the CPU."""
