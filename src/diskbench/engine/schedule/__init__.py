"""Schedules: when a matrix begins by itself."""
