"""Disks that answer late: a FUSE file over a disk's image, served by a process that lets each
request wait for a latency drawn from a seed.

The process (`__main__`) starts with the bare interpreter (`python -S`), so what it imports is the
standard library and this package only. It speaks the kernel's protocol itself: libraries call
Python in a thread for each request, which took 3.4 times as much CPU and did a third of the IOPS
(docs/lab.md has the figures).
"""
