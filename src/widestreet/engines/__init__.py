"""Engines that solve the dual."""
