"""Matrices: cells, their limits, the workers that measure them."""
