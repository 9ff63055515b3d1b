"""Reusable pieces of test ground: real servers on loopback, real devices."""
