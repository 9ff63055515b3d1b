"""Limits, bursts and prices of disks: data with sources, and lookups."""
