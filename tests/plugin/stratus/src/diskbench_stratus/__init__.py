"""Stratus, a cloud that is invented, as a provider of diskbench."""
