"""Disks that answer late: a FUSE file over a disk's image, served by a process that lets each
request wait for a latency drawn from a seed.

The process (`__main__`) starts with the bare interpreter (`python -S`), so what it imports is the
standard library and this package only. It speaks the kernel's protocol
itself: a library that calls Python in a thread for each request took 3.4 times as much CPU, and
with 64 requests under way half as many were served (docs/lab.md).
"""
