"""Clouds in a box: an emulated control plane, and the lab as the machines behind it.

Used by the tests and by `script/demo-cloud`; docs/emulated-clouds.md tells what is real about it.
"""
