"""The process that stands for a machine's host cache: a FUSE file before a lab disk.

It starts with the bare interpreter (`python -S`), so it may import the standard library and what of
the lab does the same.
"""
