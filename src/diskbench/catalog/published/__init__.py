"""Figures that others have published, and which runs are comparable with them."""
