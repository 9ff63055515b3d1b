"""Orchestration: the life of one trial and its lease."""
